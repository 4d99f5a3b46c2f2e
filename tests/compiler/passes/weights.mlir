// SPDX-License-Identifier: MIT
// Products with constants become layers: codes of 8 bits with a step for each column.
// RUN: sidra-opt %s --split-input-file --xnn-weights --canonicalize | FileCheck %s
// RUN: sidra-opt %s --split-input-file --xnn-weights="fold=false merge=false" --canonicalize | FileCheck %s --check-prefix=APART
// RUN: sidra-opt %s --split-input-file --xnn-weights=rest=true | FileCheck %s --check-prefix=REST

// What follows by column is folded: (x * w + a) * b is a layer with other steps, plus a * b.
// CHECK-LABEL: func.func @normalised
// APART-LABEL: func.func @normalised
func.func @normalised(%x: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = xnn.constant(dense<[[1.0, 2.0], [-127.0, 0.5], [64.0, -1.0], [0.0, 254.0]]> : tensor<4x2xf32>) : tensor<4x2xf32>
  %a = xnn.constant(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>
  %b = xnn.constant(dense<[3.0, 0.5]> : tensor<2xf32>) : tensor<2xf32>
  // CHECK-DAG: %[[TERM:.*]] = xnn.constant(#xnn.values<"columns", "{{.*}}">) : tensor<2xf32>
  // CHECK-DAG: %[[CODES:.*]] = xnn.constant(#xnn.values<"weights", "{{.*}}">) : tensor<4x2xi8>
  // CHECK: %[[SUMS:.*]] = xnn.linear %arg0, %[[CODES]], %{{.*}} : tensor<3x4xf32>, tensor<4x2xi8>, tensor<2xf32> -> tensor<3x2xf32>
  // CHECK-NEXT: %[[OUT:.*]] = xnn.binary add %[[SUMS]], %[[TERM]]
  // CHECK-NEXT: return %[[OUT]]
  // APART: xnn.linear
  // APART-NEXT: xnn.binary add
  // APART-NEXT: xnn.binary mul
  %0 = xnn.matmul %x, %w : tensor<3x4xf32>, tensor<4x2xf32> -> tensor<3x2xf32>
  %1 = xnn.binary add %0, %a : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %2 = xnn.binary mul %1, %b : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// Two layers with one input are one matrix, and each result a part of its columns.
// CHECK-LABEL: func.func @merged
// APART-LABEL: func.func @merged
func.func @merged(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x1xf32>) {
  %w = xnn.constant(dense<[[1.0, 2.0], [3.0, 0.5]]> : tensor<2x2xf32>) : tensor<2x2xf32>
  %v = xnn.constant(dense<[[1.0], [3.0]]> : tensor<2x1xf32>) : tensor<2x1xf32>
  // What rounding took away is one matrix, too.
  // REST-LABEL: func.func @merged
  // REST: xnn.linear %arg0, {{.*}} {rest = #xnn.values<"weights+weights.rest", "{{.*}}">} : tensor<3x2xf32>, tensor<2x3xi8>
  // CHECK: %[[BOTH:.*]] = xnn.linear %arg0, %{{.*}}, %{{.*}} : tensor<3x2xf32>, tensor<2x3xi8>, tensor<3xf32> -> tensor<3x3xf32>
  // CHECK: %[[LEFT:.*]] = xnn.slice %[[BOTH]] starts [0, 0]
  // CHECK: %[[RIGHT:.*]] = xnn.slice %[[BOTH]] starts [0, 2]
  // CHECK: return %[[LEFT]], %[[RIGHT]]
  // APART: %[[LEFT:.*]] = xnn.linear %arg0, {{.*}} -> tensor<3x2xf32>
  // APART: %[[RIGHT:.*]] = xnn.linear %arg0, {{.*}} -> tensor<3x1xf32>
  // APART: return %[[LEFT]], %[[RIGHT]]
  %0 = xnn.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %1 = xnn.matmul %x, %v : tensor<3x2xf32>, tensor<2x1xf32> -> tensor<3x1xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x1xf32>
}

// -----

// A convolution of 4 groups with one channel each is one matrix with 4 blocks.
// CHECK-LABEL: func.func @depthwise
func.func @depthwise(%x: tensor<1x5x5x4xf32>) -> tensor<1x3x3x4xf32> {
  %w = xnn.constant(dense<2.0> : tensor<3x3x1x4xf32>) : tensor<3x3x1x4xf32>
  // CHECK: xnn.conv_layer %arg0, %{{.*}} : tensor<1x5x5x4xf32>, tensor<36x4xi8>, tensor<4xf32> -> tensor<1x3x3x4xf32>
  %0 = xnn.conv %x, %w <[3, 3], stride = [1, 1], before = [0, 0], after = [0, 0], dilation = [1, 1]> groups 4 : tensor<1x5x5x4xf32>, tensor<3x3x1x4xf32> -> tensor<1x3x3x4xf32>
  return %0 : tensor<1x3x3x4xf32>
}

// -----

// Infinity has no code, and a factor that is not constant no place on crossbars.
// CHECK-LABEL: func.func @digital
func.func @digital(%x: tensor<3x2xf32>, %y: tensor<2x2xf32>) -> (tensor<3x1xf32>, tensor<3x2xf32>) {
  %w = xnn.constant(dense<[[0x7F800000], [3.0]]> : tensor<2x1xf32>) : tensor<2x1xf32>
  // CHECK: xnn.matmul
  // CHECK: xnn.matmul
  %0 = xnn.matmul %x, %w : tensor<3x2xf32>, tensor<2x1xf32> -> tensor<3x1xf32>
  %1 = xnn.matmul %x, %y : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %0, %1 : tensor<3x1xf32>, tensor<3x2xf32>
}
