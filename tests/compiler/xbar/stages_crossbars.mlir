// SPDX-License-Identifier: MIT
// What the crossbars of a chip say: three matrices of one crossbar each fit on three chips of one crossbar, not on two.
// RUN: sidra-opt %s --xbar-stages="chips=0 crossbars=1" | FileCheck %s
// RUN: not sidra-opt %s --xbar-stages="chips=2 crossbars=1" 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: sidra-opt %s --xbar-stages="chips=0 crossbars=2" | FileCheck %s --check-prefix=TWO

// CHECK: @main_stage0
// CHECK: xbar.weights "a"
// CHECK-NOT: xbar.weights
// CHECK: @main_stage1
// CHECK: xbar.weights "b"
// CHECK-NOT: xbar.weights
// CHECK: @main_stage2
// CHECK: xbar.weights "c"
// CHECK-NOT: stage3
// SMALL: the matrices need 3 crossbars (the largest 1) of 2 chips with 1 each
// TWO: @main_stage1
// TWO-NOT: stage2
func.func @main(%x: !xbar.buffer<16> {xnn.name = "x", xbar.tensor = tensor<4xf32>}) -> (!xbar.buffer<16> {xnn.name = "y", xbar.tensor = tensor<4xf32>}) {
  %aw = xbar.weights "a" "a" : !xbar.matrix<4 x 4>
  %a = xbar.alloc : !xbar.buffer<16>
  xbar.layer %aw(%x, %a) <0 + 0, f32, [1, 1, 1], image = [1, 1, 4], kernel = [1, 1], stride = [1, 1], pad = [0, 0], dilation = [1, 1], bytes = [16, 16, 16]> arrays [#xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load sums", "store o0, v0"] : !xbar.matrix<4 x 4>, !xbar.buffer<16>, !xbar.buffer<16>
  %bw = xbar.weights "b" "b" : !xbar.matrix<4 x 4>
  %b = xbar.alloc : !xbar.buffer<16>
  xbar.layer %bw(%a, %b) <0 + 0, f32, [1, 1, 1], image = [1, 1, 4], kernel = [1, 1], stride = [1, 1], pad = [0, 0], dilation = [1, 1], bytes = [16, 16, 16]> arrays [#xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load sums", "store o0, v0"] : !xbar.matrix<4 x 4>, !xbar.buffer<16>, !xbar.buffer<16>
  %cw = xbar.weights "c" "c" : !xbar.matrix<4 x 4>
  %c = xbar.alloc : !xbar.buffer<16>
  xbar.layer %cw(%b, %c) <0 + 0, f32, [1, 1, 1], image = [1, 1, 4], kernel = [1, 1], stride = [1, 1], pad = [0, 0], dilation = [1, 1], bytes = [16, 16, 16]> arrays [#xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load sums", "store o0, v0"] : !xbar.matrix<4 x 4>, !xbar.buffer<16>, !xbar.buffer<16>
  return %c : !xbar.buffer<16>
}
