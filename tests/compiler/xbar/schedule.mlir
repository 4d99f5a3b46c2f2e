// SPDX-License-Identifier: MIT
// Calls are put in an order that needs less memory at a time, unless the present one is as good.
// RUN: sidra-opt %s --pass-pipeline='builtin.module(func.func(xbar-schedule,xbar-plan))' | FileCheck %s
// RUN: sidra-opt %s --pass-pipeline='builtin.module(func.func(xbar-plan))' | FileCheck %s --check-prefix=BEFORE

// Two branches, each of which makes something large and then a sum of it.
// CHECK-LABEL: func.func @branches
// CHECK-SAME: xbar.work = 4288
// BEFORE-LABEL: func.func @branches
// BEFORE-SAME: xbar.work = 8320
func.func @branches(%x: !xbar.buffer<64>) -> !xbar.buffer<64> {
  %a = xbar.alloc : <4096>
  %b = xbar.alloc : <4096>
  %c = xbar.alloc : <64>
  %d = xbar.alloc : <64>
  %y = xbar.alloc : <64>
  // CHECK: "v0 = move 1.0"
  xbar.vector [1, 1, 1, 1024](%a) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 1.0", "store o0, v0"] : !xbar.buffer<4096>
  xbar.vector [1, 1, 1, 1024](%b) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 2.0", "store o0, v0"] : !xbar.buffer<4096>
  // CHECK-NEXT: "v0 = neg v0"
  // CHECK-NEXT: "v0 = move 2.0"
  // CHECK-NEXT: "v0 = abs v0"
  xbar.vector [1, 1, 1, 16](%a, %c) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v0 = neg v0", "store o1, v0"] : !xbar.buffer<4096>, !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%b, %d) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v0 = abs v0", "store o1, v0"] : !xbar.buffer<4096>, !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%c, %d, %y) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>, #xbar.array<2 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v1 = load o1", "v0 = add v0, v1", "store o2, v0"] : !xbar.buffer<64>, !xbar.buffer<64>, !xbar.buffer<64>
  return %y : !xbar.buffer<64>
}

// Who writes a buffer stays behind those that read what was there before, and before those that read it later.
// CHECK-LABEL: func.func @in_order
func.func @in_order(%x: !xbar.buffer<64>) -> (!xbar.buffer<64>, !xbar.buffer<64>) {
  %a = xbar.alloc : <4096>
  %b = xbar.alloc : <4096>
  %c = xbar.alloc : <64>
  %y = xbar.alloc : <64>
  // CHECK: "v0 = move 1.0"
  // CHECK-NEXT: "v0 = neg v0"
  // CHECK-NEXT: "v0 = move 3.0"
  // CHECK-NEXT: "v0 = abs v0"
  // CHECK-NEXT: "v0 = move 2.0"
  xbar.vector [1, 1, 1, 1024](%a) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 1.0", "store o0, v0"] : !xbar.buffer<4096>
  xbar.vector [1, 1, 1, 1024](%b) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 2.0", "store o0, v0"] : !xbar.buffer<4096>
  xbar.vector [1, 1, 1, 16](%a, %c) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v0 = neg v0", "store o1, v0"] : !xbar.buffer<4096>, !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%a) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 3.0", "store o0, v0"] : !xbar.buffer<4096>
  xbar.vector [1, 1, 1, 16](%a, %y) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v0 = abs v0", "store o1, v0"] : !xbar.buffer<4096>, !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%b, %c) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "v0 = load o0", "store o1, v0"] : !xbar.buffer<4096>, !xbar.buffer<64>
  return %c, %y : !xbar.buffer<64>, !xbar.buffer<64>
}

// What is written in this order needs no more than any other.
// CHECK-LABEL: func.func @as_it_is
func.func @as_it_is(%x: !xbar.buffer<64>) -> !xbar.buffer<64> {
  %a = xbar.alloc : <64>
  %b = xbar.alloc : <64>
  // CHECK: "v0 = move 2.0"
  // CHECK-NEXT: "v0 = move 1.0"
  xbar.vector [1, 1, 1, 16](%b) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 2.0", "store o0, v0"] : !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%a) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = move 1.0", "store o0, v0"] : !xbar.buffer<64>
  xbar.vector [1, 1, 1, 16](%a, %b) arrays [#xbar.array<0 + 0, f32, [0, 0, 0, 4]>, #xbar.array<1 + 0, f32, [0, 0, 0, 4]>] program ["pass:", "v0 = load o0", "store o1, v0"] : !xbar.buffer<64>, !xbar.buffer<64>
  return %b : !xbar.buffer<64>
}
