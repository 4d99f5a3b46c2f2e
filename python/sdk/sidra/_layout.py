# SPDX-License-Identifier: MIT
"""How a matrix lies on crossbars."""
from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Layout:
    """A matrix [inputs, outputs] is cut into tiles, each of which has a crossbar of its own.

    shape      inputs and outputs of the matrix
    encoding   "differential": two cells for each weight; "offset": one
    tile       inputs and outputs of a whole tile: 256 x 128 (differential) or 256 x 256 (offset) on a Y1
    crossbars  the number of the crossbar of each tile: crossbars[row of tiles][column of tiles]"""

    shape: tuple[int, int]
    encoding: str
    tile: tuple[int, int]
    crossbars: tuple[tuple[int, ...], ...]

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of tiles."""
        return len(self.crossbars), len(self.crossbars[0])

    @property
    def padding(self) -> tuple[int, int]:
        """Inputs that the last row of tiles has room for and the matrix does not have, and outputs of the last column."""
        return self.grid[0] * self.tile[0] - self.shape[0], self.grid[1] * self.tile[1] - self.shape[1]

    def part(self, row: int, column: int) -> tuple[slice, slice]:
        """The part of the matrix that one tile has: matrix[layout.part(0, 1)]."""
        rows, columns = self.grid
        if not 0 <= row < rows or not 0 <= column < columns:
            raise IndexError(f"there is no tile {row}, {column}: the matrix has {rows} x {columns}")
        (inputs, outputs), (height, width) = self.shape, self.tile
        return slice(row * height, min((row + 1) * height, inputs)), slice(column * width, min((column + 1) * width, outputs))
