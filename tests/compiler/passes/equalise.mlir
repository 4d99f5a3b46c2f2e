// SPDX-License-Identifier: MIT
// Factors between two layers: the columns of the first one and what follows them by column are multiplied, and the rows of
// the second one divided.
// RUN: sidra-opt %s --split-input-file --xnn-equalise | FileCheck %s
// RUN: sidra-opt %s --split-input-file --xnn-equalise --xnn-weights | FileCheck %s --check-prefix=FOLDED

// The second channel is 1,024 times as large as the first one, and its row as much smaller: the factors are 32 and 1 / 32.
// CHECK-LABEL: func.func @after_relu
// FOLDED-LABEL: func.func @after_relu
func.func @after_relu(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = xnn.constant(dense<[[1.0, 1024.0], [-1.0, -1024.0]]> : tensor<2x2xf32>) : tensor<2x2xf32>
  %a = xnn.constant(dense<[0.25, 256.0]> : tensor<2xf32>) : tensor<2xf32>
  %v = xnn.constant(dense<[[1024.0, 512.0], [1.0, 0.7]]> : tensor<2x2xf32>) : tensor<2x2xf32>
  %zero = xnn.constant(dense<0.0> : tensor<f32>) : tensor<f32>
  // CHECK: %[[FIRST:.*]] = xnn.matmul %arg0
  // CHECK-NEXT: %[[SUM:.*]] = xnn.binary add %[[FIRST]]
  // CHECK-NEXT: %[[FACTORS:.*]] = xnn.constant(#xnn.values<"columns", "{{.*}}">) : tensor<2xf32>
  // CHECK-NEXT: %[[SCALED:.*]] = xnn.binary mul %[[SUM]], %[[FACTORS]]
  // CHECK-NEXT: %[[RELU:.*]] = xnn.binary max %[[SCALED]]
  // CHECK-NEXT: %[[ROWS:.*]] = xnn.constant(#xnn.values<"equalised", "{{.*}}">) : tensor<2x2xf32>
  // CHECK-NEXT: xnn.matmul %[[RELU]], %[[ROWS]]
  // The factors become part of the first layer's own ones and of its term.
  // FOLDED: xnn.linear
  // FOLDED-NOT: xnn.binary mul
  // FOLDED: xnn.binary add
  // FOLDED-NOT: xnn.binary mul
  // FOLDED: xnn.binary max
  // FOLDED: xnn.linear
  %0 = xnn.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %1 = xnn.binary add %0, %a : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %2 = xnn.binary max %1, %zero : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  %3 = xnn.matmul %2, %v : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %3 : tensor<3x2xf32>
}

// -----

// Channels move to the front, and a row has the pixels of one behind those of another.
// CHECK-LABEL: func.func @flattened
func.func @flattened(%x: tensor<1x3x3x1xf32>) -> tensor<1x1xf32> {
  %w = xnn.constant(dense<[[[[1.0, 1024.0]]]]> : tensor<1x1x1x2xf32>) : tensor<1x1x1x2xf32>
  %v = xnn.constant(dense<[[1024.0], [1.0]]> : tensor<2x1xf32>) : tensor<2x1xf32>
  // CHECK: xnn.conv
  // CHECK: xnn.binary mul %{{.*}} : tensor<1x3x3x2xf32>, tensor<2xf32>
  // CHECK-NEXT: xnn.pool max
  // CHECK-NEXT: xnn.transpose
  // CHECK-NEXT: xnn.reshape
  // CHECK-NEXT: xnn.constant(#xnn.values<"equalised"
  %0 = xnn.conv %x, %w <[1, 1], stride = [1, 1], before = [0, 0], after = [0, 0], dilation = [1, 1]> groups 1 : tensor<1x3x3x1xf32>, tensor<1x1x1x2xf32> -> tensor<1x3x3x2xf32>
  %1 = xnn.pool max %0 <[3, 3], stride = [3, 3], before = [0, 0], after = [0, 0], dilation = [1, 1]> : tensor<1x3x3x2xf32> -> tensor<1x1x1x2xf32>
  %2 = xnn.transpose %1 [0, 3, 1, 2] : tensor<1x1x1x2xf32> -> tensor<1x2x1x1xf32>
  %3 = xnn.reshape %2 : tensor<1x2x1x1xf32> -> tensor<1x2xf32>
  %4 = xnn.matmul %3, %v : tensor<1x2xf32>, tensor<2x1xf32> -> tensor<1x1xf32>
  return %4 : tensor<1x1xf32>
}

// -----

// Nothing to gain: all rows are as large as each other.
// CHECK-LABEL: func.func @equal
func.func @equal(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = xnn.constant(dense<[[1.0, -1.1], [0.9, 1.0]]> : tensor<2x2xf32>) : tensor<2x2xf32>
  %zero = xnn.constant(dense<0.0> : tensor<f32>) : tensor<f32>
  // CHECK-NOT: xnn.binary mul
  %0 = xnn.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %1 = xnn.binary max %0, %zero : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  %v = xnn.constant(dense<[[1.0, 0.7], [0.9, -1.0]]> : tensor<2x2xf32>) : tensor<2x2xf32>
  %2 = xnn.matmul %1, %v : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  // CHECK: return
  return %2 : tensor<3x2xf32>
}

// -----

// Somebody else needs the channels as they are, and an exponential lets no factor through.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xf32>) {
  %w = xnn.constant(dense<[[1.0, 1024.0], [-1.0, -1024.0]]> : tensor<2x2xf32>) : tensor<2x2xf32>
  %v = xnn.constant(dense<[[1024.0], [1.0]]> : tensor<2x1xf32>) : tensor<2x1xf32>
  %u = xnn.constant(dense<[[1024.0], [2.0]]> : tensor<2x1xf32>) : tensor<2x1xf32>
  // CHECK-NOT: xnn.binary mul
  %0 = xnn.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %1 = xnn.matmul %0, %v : tensor<3x2xf32>, tensor<2x1xf32> -> tensor<3x1xf32>
  %2 = xnn.unary exp %0 : tensor<3x2xf32>
  %3 = xnn.matmul %2, %u : tensor<3x2xf32>, tensor<2x1xf32> -> tensor<3x1xf32>
  // CHECK: return
  return %0, %1, %3 : tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xf32>
}
