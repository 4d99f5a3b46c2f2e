// SPDX-License-Identifier: MIT
// Calls that the chip would refuse, and places outside of their buffers.
// RUN: sidra-opt %s --split-input-file --verify-diagnostics

func.func @outside(%b: !xbar.buffer<64>) {
  // expected-error @+1 {{has array 0, which ends 68 bytes behind the beginning of a buffer of 64}}
  xbar.vector [1, 1, 1, 16](%b) arrays [#xbar.array<0 + 4, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 1.0", "store o0, v0"] : !xbar.buffer<64>
  return
}

// -----

func.func @no_buffer(%b: !xbar.buffer<64>) {
  // expected-error @+1 {{has an array in a buffer that it does not have}}
  xbar.vector [1, 1, 1, 16](%b) arrays [#xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 1.0", "store o0, v0"] : !xbar.buffer<64>
  return
}

// -----

func.func @no_program(%b: !xbar.buffer<64>) {
  // expected-error @+1 {{has an error in line 2 of its program}}
  xbar.vector [1, 1, 1, 16](%b) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = mov 1.0", "store o0, v0"] : !xbar.buffer<64>
  return
}

// -----

func.func @undefined(%b: !xbar.buffer<64>) {
  // expected-error @+1 {{breaks rule 5 in instruction 0}}
  xbar.vector [1, 1, 1, 16](%b) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "store o0, v0"] : !xbar.buffer<64>
  return
}

// -----

func.func @empty(%b: !xbar.buffer<64>) {
  // expected-error @+1 {{needs four sizes of at least 1}}
  xbar.vector [1, 1, 0, 16](%b) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 1.0", "store o0, v0"] : !xbar.buffer<64>
  return
}

// -----

func.func @windows(%w: !xbar.matrix<9 x 2>, %b: !xbar.buffer<64>, %c: !xbar.buffer<64>) {
  // expected-error @+1 {{has windows that leave their buffer}}
  xbar.layer %w(%b, %c) <0 + 0, f32, [1, 3, 3], image = [5, 5, 1], kernel = [3, 3], stride = [1, 1], pad = [0, 0], dilation = [1, 1], bytes = [100, 20, 4]> arrays [#xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load sums", "store o0, v0"] : !xbar.matrix<9 x 2>, !xbar.buffer<64>, !xbar.buffer<64>
  return
}

// -----

func.func @sort(%b: !xbar.buffer<64>, %v: !xbar.buffer<16>, %i: !xbar.buffer<16>) {
  // expected-error @+1 {{leaves the buffers of its results}}
  xbar.sort %b + 0, %v, %i of f32 [1 x 16] count 4 stride 64 : !xbar.buffer<64>, !xbar.buffer<16>, !xbar.buffer<16>
  return
}

// -----

func.func @host(%b: !xbar.buffer<64>, %o: !xbar.buffer<64>) {
  // expected-error @+1 {{cannot call determinant: the input must be}}
  xbar.host "determinant"(%b) [0] [tensor<1x2x3xf32>] to %o tensor<1xf32> parameters [] : !xbar.buffer<64> to !xbar.buffer<64>
  return
}

// -----

func.func @host_types(%b: !xbar.buffer<64>, %o: !xbar.buffer<64>) {
  // expected-error @+1 {{has arrays of types that the chip lacks}}
  xbar.host "determinant"(%b) [0] [tensor<1x2x2xf64>] to %o tensor<1xf32> parameters [] : !xbar.buffer<64> to !xbar.buffer<64>
  return
}

// -----

func.func @host_offsets(%b: !xbar.buffer<64>, %o: !xbar.buffer<64>) {
  // expected-error @+1 {{needs a type and an offset for each input}}
  xbar.host "determinant"(%b) [] [tensor<1x2x2xf32>] to %o tensor<1xf32> parameters [] : !xbar.buffer<64> to !xbar.buffer<64>
  return
}

// -----

func.func @host_input(%b: !xbar.buffer<64>, %o: !xbar.buffer<64>) {
  // expected-error @+1 {{leaves the buffer of input 0}}
  xbar.host "determinant"(%b) [52] [tensor<1x2x2xf32>] to %o tensor<1xf32> parameters [] : !xbar.buffer<64> to !xbar.buffer<64>
  return
}

// -----

func.func @host_output(%b: !xbar.buffer<64>, %o: !xbar.buffer<4>) {
  // expected-error @+1 {{leaves the buffer of its output}}
  xbar.host "determinant"(%b) [0] [tensor<2x2x2xf32>] to %o tensor<2xf32> parameters [] : !xbar.buffer<64> to !xbar.buffer<4>
  return
}

// -----

func.func @host_overlap(%b: !xbar.buffer<64>) {
  // expected-error @+1 {{has an input in the buffer of its output}}
  xbar.host "determinant"(%b) [0] [tensor<1x2x2xf32>] to %b tensor<1xf32> parameters [] : !xbar.buffer<64> to !xbar.buffer<64>
  return
}
