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

// One division for each row, but not where the quotient is rounded to a code.
// CHECK-LABEL: func.func @divide
func.func @divide(%x: tensor<2x8xf32>, %s: tensor<2x1xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  // CHECK: %[[INVERSE:.*]] = xnn.binary div %{{.*}}, %arg1 : tensor<f32>, tensor<2x1xf32> -> tensor<2x1xf32>
  // CHECK: xnn.binary mul %arg0, %[[INVERSE]]
  // CHECK: %[[EXACT:.*]] = xnn.binary div %arg0, %arg1
  // CHECK: xnn.unary round %[[EXACT]]
  %0 = xnn.binary div %x, %s : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %1 = xnn.unary abs %0 : tensor<2x8xf32>
  %2 = xnn.binary div %x, %s : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %3 = xnn.unary round %2 : tensor<2x8xf32>
  return %1, %3 : tensor<2x8xf32>, tensor<2x8xf32>
}
