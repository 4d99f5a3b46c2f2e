// SPDX-License-Identifier: MIT
// Transpositions move down until they cancel.
// RUN: sidra-opt %s --split-input-file --xnn-layout | FileCheck %s

// CHECK-LABEL: func.func @cancels
func.func @cancels(%x: tensor<2x4x5x3xf32>, %b: tensor<3x1x1xf32>) -> tensor<2x4x5x3xf32> {
  // CHECK-NOT: xnn.transpose %{{.*}} : tensor<2x
  // CHECK: xnn.unary tanh %{{.*}} : tensor<2x4x5x3xf32>
  // CHECK-NOT: xnn.transpose %{{.*}} : tensor<2x
  // CHECK: return
  %0 = xnn.transpose %x [0, 3, 1, 2] : tensor<2x4x5x3xf32> -> tensor<2x3x4x5xf32>
  %1 = xnn.binary add %0, %b : tensor<2x3x4x5xf32>, tensor<3x1x1xf32> -> tensor<2x3x4x5xf32>
  %2 = xnn.unary tanh %1 : tensor<2x3x4x5xf32>
  %3 = xnn.transpose %2 [0, 2, 3, 1] : tensor<2x3x4x5xf32> -> tensor<2x4x5x3xf32>
  return %3 : tensor<2x4x5x3xf32>
}

// -----

// Where two values of one size meet, of which one is transposed, it stays. (Moving it to the other never ended.)
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<5x5xf32>, %y: tensor<5x5xf32>) -> tensor<5x5xf32> {
  // CHECK: %[[T:.*]] = xnn.transpose %arg0
  // CHECK: xnn.binary mul %[[T]], %arg1
  %0 = xnn.transpose %x [1, 0] : tensor<5x5xf32> -> tensor<5x5xf32>
  %1 = xnn.binary mul %0, %y : tensor<5x5xf32>, tensor<5x5xf32> -> tensor<5x5xf32>
  return %1 : tensor<5x5xf32>
}
