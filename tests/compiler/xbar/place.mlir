// SPDX-License-Identifier: MIT
// Matrices get crossbars of a chip with 1 x 2 x 4 of them: 0 is in use, 5 is bad, 6 and 7 have one bad cell. `second`
// computes with what `first` has computed, through a vector call, so both share a compute unit, and leave the other one
// to `alone`. In it, those without bad cells come first.
// RUN: sidra-opt %s --xbar-place=map=xbar/place.json | FileCheck %s
// RUN: sidra-opt %s '--xbar-place=map=xbar/place.json bad-cells=2000' | FileCheck %s --check-prefixes=LENIENT
// RUN: not sidra-opt %s --xbar-place=map=xbar/nowhere.json 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not sidra-opt %s '--xbar-place=map=xbar/place.json bad-cells=1' 2>&1 | FileCheck %s --check-prefix=FEW
// NOWHERE: xbar/nowhere.json: No such file or directory
// FEW: its matrices need 5 crossbars or more, but of the 8 in the map 4 can be used: the others are in use, or have 1 bad cells or more

// CHECK: module attributes {xbar.bad_cells = 655 : i32}
// LENIENT: module attributes {xbar.bad_cells = 1999 : i32}
module {
  func.func @chain(%x: !xbar.buffer<512>, %z: !xbar.buffer<512>) {
    // CHECK: xbar.weights "first" "a" on [4] : <256 x 1>
    %a = xbar.weights "first" "a" : !xbar.matrix<256 x 1>
    // CHECK: xbar.weights "alone" "b" on [1, 2] : <512 x 2>
    %b = xbar.weights "alone" "b" : !xbar.matrix<512 x 2>
    // CHECK: xbar.weights "second" "c" copy 1 on [6, 7] : <512 x 2>
    %c = xbar.weights "second" "c" copy 1 : !xbar.matrix<512 x 2>
    %y = xbar.alloc : !xbar.buffer<64>
    %u = xbar.alloc : !xbar.buffer<512>
    xbar.layer %a(%x, %y) <0 + 0, ui8, [1, 1, 1], image = [1, 1, 256], kernel = [1, 1], stride = [1, 1], pad = [0, 0], dilation = [1, 1], bytes = [256, 256, 256]> arrays [#xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load sums", "store o0, v0"] : !xbar.matrix<256 x 1>, !xbar.buffer<512>, !xbar.buffer<64>
    xbar.layer %b(%x, %z) <0 + 0, ui8, [1, 1, 1], image = [1, 1, 512], kernel = [1, 1], stride = [1, 1], pad = [0, 0], dilation = [1, 1], bytes = [512, 512, 512]> arrays [#xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load sums", "store o0, v0"] : !xbar.matrix<512 x 2>, !xbar.buffer<512>, !xbar.buffer<512>
    xbar.vector [1, 1, 1, 16](%y, %u) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, ui8, [0, 0, 0, 1]>] program ["pass:", "v0 = load o0", "store o1, v0"] : !xbar.buffer<64>, !xbar.buffer<512>
    xbar.layer %c(%u, %z) <0 + 0, ui8, [1, 1, 1], image = [1, 1, 512], kernel = [1, 1], stride = [1, 1], pad = [0, 0], dilation = [1, 1], bytes = [512, 512, 512]> arrays [#xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load sums", "store o0, v0"] : !xbar.matrix<512 x 2>, !xbar.buffer<512>, !xbar.buffer<512>
    return
  }
}
