// SPDX-License-Identifier: MIT
// Two equal halves; the input is handed on, because the second one adds it.
// RUN: sidra-opt %s --pass-pipeline='builtin.module(xbar-stages{chips=2},func.func(xbar-plan))' | FileCheck %s
// RUN: not sidra-opt %s --xbar-stages=chips=5 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not sidra-opt %s --xbar-stages=chips=17 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: sidra-opt %s --xbar-stages=chips=0 | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: func.func @main_stage0(
// CHECK-SAME: %[[X:.*]]: !xbar.buffer<64>
// CHECK-SAME: xnn.name = "x"
// CHECK-SAME: xbar.stage = 0
// CHECK-COUNT-2: xbar.vector
// CHECK-NOT: xbar.vector
// CHECK: return %[[X]], %{{.*}} : !xbar.buffer<64>, !xbar.buffer<64>
// CHECK-LABEL: func.func @main_stage1(
// CHECK-SAME: xnn.name = "x"
// CHECK-SAME: xbar.tensor = tensor<64xui8>
// CHECK-SAME: xbar.stage = 1
// CHECK-COUNT-2: xbar.vector
// CHECK-NOT: xbar.vector
// CHECK: return %{{.*}} : !xbar.buffer<64>
// FEW: the network is 4 calls, which are too few for 5 chips
// MANY: there are at most 16 chips
// ONE-LABEL: func.func @main(
// ONE-COUNT-4: xbar.vector
func.func @main(%x: !xbar.buffer<64> {xnn.name = "x", xbar.tensor = tensor<16xf32>}) -> (!xbar.buffer<64> {xnn.name = "y", xbar.tensor = tensor<16xf32>}) {
  %m1 = xbar.alloc : !xbar.buffer<64>
  %m2 = xbar.alloc : !xbar.buffer<64>
  %m3 = xbar.alloc : !xbar.buffer<64>
  %m4 = xbar.alloc : !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%x, %m1) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v0 = add v0, v0", "store o1, v0"] : !xbar.buffer<64>, !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%m1, %m2) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v0 = add v0, v0", "store o1, v0"] : !xbar.buffer<64>, !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%m2, %m3) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v0 = add v0, v0", "store o1, v0"] : !xbar.buffer<64>, !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%m3, %x, %m4) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>, #xbar.array<2 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v1 = load o1", "v0 = add v0, v1", "store o2, v0"] : !xbar.buffer<64>, !xbar.buffer<64>, !xbar.buffer<64>
  return %m4 : !xbar.buffer<64>
}
