// SPDX-License-Identifier: MIT
// Operations on the same rows become one group, and a group one program of the chip.
// RUN: sidra-opt %s --split-input-file --xnn-group | FileCheck %s
// RUN: sidra-opt %s --split-input-file --xnn-group=join=false | FileCheck %s --check-prefix=ALONE
// RUN: sidra-opt %s --split-input-file --pass-pipeline='builtin.module(xnn-group,func.func(xnn-to-xbar,xbar-plan))' | FileCheck %s --check-prefix=CALLS

// The exponential is stored where the result will be, because the last pass needs it again.
// CHECK-LABEL: func.func @softmax
// ALONE-LABEL: func.func @softmax
// CALLS-LABEL: func.func @softmax
func.func @softmax(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  // CHECK: %[[OUT:.*]] = xnn.group
  // CHECK: xnn.yield
  // CHECK-NOT: xnn.group
  // CHECK: return %[[OUT]]
  // ALONE-COUNT-6: xnn.group
  // ALONE-NOT: xnn.group
  // ALONE: return
  // CALLS: xbar.vector [1, 1, 4, 10]
  // CALLS-SAME: program ["pass:", "v0 = load o0", "s0 = reduce_max v0", "pass:", "v0 = load o0", "v0 = sub v0, s0", "v0 = exp v0", "s0 = reduce_sum v0", "store o1, v0", "s0 = div 1.0, s0", "pass:", "v0 = load o1", "v0 = mul v0, s0", "store o1, v0"]
  %one = xnn.constant(dense<1.0> : tensor<f32>) : tensor<f32>
  %0 = xnn.reduce max %x : tensor<4x10xf32> -> tensor<4x1xf32>
  %1 = xnn.binary sub %x, %0 : tensor<4x10xf32>, tensor<4x1xf32> -> tensor<4x10xf32>
  %2 = xnn.unary exp %1 : tensor<4x10xf32>
  %3 = xnn.reduce sum %2 : tensor<4x10xf32> -> tensor<4x1xf32>
  %4 = xnn.binary div %one, %3 : tensor<f32>, tensor<4x1xf32> -> tensor<4x1xf32>
  %5 = xnn.binary mul %2, %4 : tensor<4x10xf32>, tensor<4x1xf32> -> tensor<4x10xf32>
  return %5 : tensor<4x10xf32>
}

// -----

// Between the two additions lies a product that depends on the first and that the second needs: two groups.
// CHECK-LABEL: func.func @between
func.func @between(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[A:.*]] = xnn.group
  // CHECK: xnn.binary add
  // CHECK: xnn.group
  // CHECK: xnn.matmul
  // CHECK: xnn.binary add
  %0 = xnn.binary add %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = xnn.matmul %0, %0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = xnn.binary add %0, %1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A transposition is another view, and memory is used again once it is free.
// CALLS-LABEL: func.func @memory
// CALLS-SAME: xbar.work = 384
func.func @memory(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // CALLS: xbar.vector {{.*}} arrays [#xbar.array<0 + 0, f32, [0, 0, 4, 32]>
  %0 = xnn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = xnn.unary exp %0 : tensor<8x4xf32>
  %2 = xnn.slice %1 starts [0, 0] steps [1, 2] : tensor<8x4xf32> -> tensor<8x2xf32>
  %3 = xnn.slice %1 starts [0, 1] steps [1, 2] : tensor<8x4xf32> -> tensor<8x2xf32>
  %4 = xnn.concat %3, %2 axis 1 : tensor<8x2xf32>, tensor<8x2xf32> -> tensor<8x4xf32>
  %5 = xnn.unary neg %4 : tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}

// -----

// A product whose heads are only put beside each other stores them there: row t of head h begins 32 * t + 8 * h bytes behind the beginning.
// CALLS-LABEL: func.func @heads
func.func @heads(%a: tensor<4x3x5xf32>, %b: tensor<4x5x2xf32>) -> tensor<3x8xf32> {
  // CALLS: xbar.matmul [1, 4, 3, 2, 5]
  // CALLS-SAME: #xbar.array<2 + 0, f32, [0, 8, 32, 4]>
  // CALLS-NEXT: return
  %0 = xnn.matmul %a, %b : tensor<4x3x5xf32>, tensor<4x5x2xf32> -> tensor<4x3x2xf32>
  %1 = xnn.transpose %0 [1, 0, 2] : tensor<4x3x2xf32> -> tensor<3x4x2xf32>
  %2 = xnn.reshape %1 : tensor<3x4x2xf32> -> tensor<3x8xf32>
  return %2 : tensor<3x8xf32>
}
