// SPDX-License-Identifier: MIT
// RUN: sidra-opt %s --split-input-file --xnn-simplify | FileCheck %s

// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %root = xnn.constant(dense<1.41421354> : tensor<f32>) : tensor<f32>
  %one = xnn.constant(dense<1.0> : tensor<f32>) : tensor<f32>
  %half = xnn.constant(dense<0.5> : tensor<f32>) : tensor<f32>
  // CHECK: %[[OUT:.*]] = xnn.unary gelu %arg0
  // CHECK-NEXT: return %[[OUT]]
  %0 = xnn.binary div %x, %root : tensor<2x8xf32>, tensor<f32> -> tensor<2x8xf32>
  %1 = xnn.unary erf %0 : tensor<2x8xf32>
  %2 = xnn.binary add %1, %one : tensor<2x8xf32>, tensor<f32> -> tensor<2x8xf32>
  %3 = xnn.binary mul %x, %2 : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
  %4 = xnn.binary mul %3, %half : tensor<2x8xf32>, tensor<f32> -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // CHECK: xnn.unary silu %arg0
  %0 = xnn.unary sigmoid %x : tensor<2x8xf32>
  %1 = xnn.binary mul %x, %0 : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}

// -----

// One division for each row, but not where the quotient is rounded to an integer.
// CHECK-LABEL: func.func @divide
func.func @divide(%x: tensor<2x8xf32>, %s: tensor<2x1xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xi32>) {
  // CHECK: %[[INVERSE:.*]] = xnn.binary div %{{.*}}, %arg1 : tensor<f32>, tensor<2x1xf32> -> tensor<2x1xf32>
  // CHECK: xnn.binary mul %arg0, %[[INVERSE]]
  // CHECK: %[[EXACT:.*]] = xnn.binary div %arg0, %arg1
  // CHECK: xnn.unary round %[[EXACT]]
  // CHECK: %[[WHOLE:.*]] = xnn.binary div %arg0, %arg1
  // CHECK: xnn.unary floor %[[WHOLE]]
  // CHECK: %[[CUT:.*]] = xnn.binary div %arg0, %arg1
  // CHECK: xnn.cast %[[CUT]]
  %0 = xnn.binary div %x, %s : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %1 = xnn.unary abs %0 : tensor<2x8xf32>
  %2 = xnn.binary div %x, %s : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %3 = xnn.unary round %2 : tensor<2x8xf32>
  %4 = xnn.binary div %x, %s : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %5 = xnn.unary floor %4 : tensor<2x8xf32>
  %6 = xnn.binary div %x, %s : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %7 = xnn.cast %6 : tensor<2x8xf32> -> tensor<2x8xi32>
  return %1, %3, %5, %7 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xi32>
}

// -----

// A number behind views of a layer belongs to the layer. One behind those of an input does not.
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<2x4x4xf32>, tensor<8x4xf32>) {
  // CHECK: %[[SUM:.*]] = xnn.binary add
  // CHECK: %[[SCALED:.*]] = xnn.binary mul %[[SUM]], %{{.*}} : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  // CHECK: %[[SPLIT:.*]] = xnn.reshape %[[SCALED]]
  // CHECK: %[[HEADS:.*]] = xnn.transpose %[[SPLIT]]
  // CHECK: %[[TURNED:.*]] = xnn.transpose %arg1
  // CHECK: %[[OTHER:.*]] = xnn.binary mul %[[TURNED]]
  // CHECK: return %[[HEADS]], %[[OTHER]]
  %w = xnn.constant(dense<2.0> : tensor<8x8xf32>) : tensor<8x8xf32>
  %b = xnn.constant(dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>) : tensor<8xf32>
  %half = xnn.constant(dense<0.5> : tensor<f32>) : tensor<f32>
  %0 = xnn.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = xnn.binary add %0, %b : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  %2 = xnn.reshape %1 : tensor<4x8xf32> -> tensor<4x2x4xf32>
  %3 = xnn.transpose %2 [1, 0, 2] : tensor<4x2x4xf32> -> tensor<2x4x4xf32>
  %4 = xnn.binary mul %3, %half : tensor<2x4x4xf32>, tensor<f32> -> tensor<2x4x4xf32>
  %5 = xnn.transpose %y [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %6 = xnn.binary mul %5, %half : tensor<8x4xf32>, tensor<f32> -> tensor<8x4xf32>
  return %4, %6 : tensor<2x4x4xf32>, tensor<8x4xf32>
}

// -----

// A mask of zeros changes no product, but may change the sign of another zero.
// CHECK-LABEL: func.func @nothing
func.func @nothing(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[PRODUCT:.*]] = xnn.matmul %arg0, %arg1
  // CHECK: %[[SUM:.*]] = xnn.binary add %arg0
  // CHECK: return %[[PRODUCT]], %[[SUM]]
  %zero = xnn.constant(dense<0.0> : tensor<4x8xf32>) : tensor<4x8xf32>
  %0 = xnn.matmul %x, %y : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = xnn.binary add %zero, %0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = xnn.binary add %x, %zero : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// All of a row of softmax is NaN, or nothing.
// CHECK-LABEL: func.func @masked_softmax
func.func @masked_softmax(%x: tensor<4x8xf32>, %e: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[INVERSE:.*]] = xnn.binary div %{{.*}} -> tensor<4x1xf32>
  // CHECK: %[[BAD:.*]] = xnn.binary ne %[[INVERSE]], %[[INVERSE]] : tensor<4x1xf32>, tensor<4x1xf32> -> tensor<4x1xi1>
  // CHECK: xnn.select %[[BAD]], %{{.*}}, %{{.*}} : tensor<4x1xi1>
  // CHECK: %[[EACH:.*]] = xnn.binary ne %{{.*}} -> tensor<4x8xi1>
  // CHECK: xnn.select %[[EACH]]
  %zero = xnn.constant(dense<0.0> : tensor<f32>) : tensor<f32>
  %0 = xnn.reduce max %x : tensor<4x8xf32> -> tensor<4x1xf32>
  %1 = xnn.binary sub %x, %0 : tensor<4x8xf32>, tensor<4x1xf32> -> tensor<4x8xf32>
  %2 = xnn.unary exp %1 : tensor<4x8xf32>
  %3 = xnn.reduce sum %2 : tensor<4x8xf32> -> tensor<4x1xf32>
  %4 = xnn.binary div %2, %3 : tensor<4x8xf32>, tensor<4x1xf32> -> tensor<4x8xf32>
  %5 = xnn.binary ne %4, %4 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xi1>
  %6 = xnn.select %5, %zero, %4 : tensor<4x8xi1>, tensor<f32>, tensor<4x8xf32> -> tensor<4x8xf32>
  %7 = xnn.reduce sum %e : tensor<4x8xf32> -> tensor<4x1xf32>
  %8 = xnn.binary div %e, %7 : tensor<4x8xf32>, tensor<4x1xf32> -> tensor<4x8xf32>
  %9 = xnn.binary ne %8, %8 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xi1>
  %10 = xnn.select %9, %zero, %8 : tensor<4x8xi1>, tensor<f32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %6, %10 : tensor<4x8xf32>, tensor<4x8xf32>
}
