// SPDX-License-Identifier: MIT
// Layers with a known range of inputs get codes, and what computes the inputs stores codes.
// RUN: sidra-opt %s --split-input-file --xnn-quantise --canonicalize --cse | FileCheck %s
// RUN: sed 's/error = array<f32: 0.5, -0.25>/error = array<f32: 0.5>/' %s | not sidra-opt --split-input-file --xnn-quantise 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: needs the mean error of each column

// The range 0 to 5.1 has a step of 0.02, and 0 is code 0, so codes are 50 * x, and negative numbers end at 0 by themselves.
// The factor goes into those of the first layer and into its term; the step goes into those of the second one.
// CHECK-LABEL: func.func @after_relu
func.func @after_relu(%x: tensor<3x2xui8>) -> tensor<3x1xf32> {
  %w = xnn.constant(dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>) : tensor<2x2xi8>
  %s = xnn.constant(dense<[0.5, 0.25]> : tensor<2xf32>) : tensor<2xf32>
  %a = xnn.constant(dense<[1.0, 2.0]> : tensor<2xf32>) : tensor<2xf32>
  %v = xnn.constant(dense<[[1], [3]]> : tensor<2x1xi8>) : tensor<2x1xi8>
  %t = xnn.constant(dense<[2.0]> : tensor<1xf32>) : tensor<1xf32>
  %zero = xnn.constant(dense<0.0> : tensor<f32>) : tensor<f32>
  // CHECK: %[[SUMS:.*]] = xnn.linear %arg0, %{{.*}}, %{{.*}} {zero = 7 : i32} : tensor<3x2xui8>
  // CHECK-NEXT: %[[SUM:.*]] = xnn.binary add %[[SUMS]], %{{.*}} : tensor<3x2xf32>, tensor<2xf32>
  // CHECK-NEXT: %[[CODES:.*]] = xnn.cast nearest %[[SUM]] : tensor<3x2xf32> -> tensor<3x2xui8>
  // CHECK-NEXT: %[[OUT:.*]] = xnn.linear %[[CODES]], %{{.*}}, %{{.*}} {zero = 0 : i32} : tensor<3x2xui8>
  // CHECK-NEXT: return %[[OUT]]
  %0 = xnn.linear %x, %w, %s {zero = 7 : i32} : tensor<3x2xui8>, tensor<2x2xi8>, tensor<2xf32> -> tensor<3x2xf32>
  %1 = xnn.binary add %0, %a : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %2 = xnn.binary max %1, %zero : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  %3 = xnn.linear %2, %v, %t {range = array<f32: 0.0, 5.1>} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %3 : tensor<3x1xf32>
}

// -----

// The range -1 to 3 has a step of 4 / 255, and 0 is code 64. Codes move before the pooling and the transposition.
// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x1xf32> {
  %w = xnn.constant(dense<[[1], [3]]> : tensor<2x1xi8>) : tensor<2x1xi8>
  %s = xnn.constant(dense<[0.5]> : tensor<1xf32>) : tensor<1xf32>
  // CHECK-DAG: %[[INVERSE:.*]] = xnn.constant(dense<63.749{{.*}}> : tensor<f32>)
  // CHECK-DAG: %[[ZERO:.*]] = xnn.constant(dense<6.400000e+01> : tensor<f32>)
  // CHECK: %[[PRODUCT:.*]] = xnn.binary mul %arg0, %[[INVERSE]]
  // CHECK-NEXT: %[[SUM:.*]] = xnn.binary add %[[PRODUCT]], %[[ZERO]]
  // CHECK-NEXT: %[[CODES:.*]] = xnn.cast nearest %[[SUM]] : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xui8>
  // CHECK-NEXT: %[[IMAGE:.*]] = xnn.transpose %[[CODES]] [0, 2, 3, 1]
  // CHECK-NEXT: %[[SMALL:.*]] = xnn.pool max %[[IMAGE]]
  // CHECK-NEXT: xnn.conv_layer %[[SMALL]]{{.*}} {zero = 64 : i32} : tensor<1x2x2x2xui8>
  %0 = xnn.transpose %x [0, 2, 3, 1] : tensor<1x2x4x4xf32> -> tensor<1x4x4x2xf32>
  %1 = xnn.pool max %0 <[2, 2], stride = [2, 2], before = [0, 0], after = [0, 0], dilation = [1, 1]> : tensor<1x4x4x2xf32> -> tensor<1x2x2x2xf32>
  %2 = xnn.conv_layer %1, %w, %s <[1, 1], stride = [1, 1], before = [0, 0], after = [0, 0], dilation = [1, 1]> {range = array<f32: -1.0, 3.0>} : tensor<1x2x2x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<1x2x2x1xf32>
  return %2 : tensor<1x2x2x1xf32>
}

// -----

// What others need as floats, too, stays as it is; the codes are computed from it.
// CHECK-LABEL: func.func @needed
func.func @needed(%x: tensor<3x2xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>) {
  %w = xnn.constant(dense<[[1], [3], [5]]> : tensor<3x1xi8>) : tensor<3x1xi8>
  %s = xnn.constant(dense<[0.5]> : tensor<1xf32>) : tensor<1xf32>
  // CHECK: %[[T:.*]] = xnn.transpose %arg0
  // CHECK: xnn.cast nearest %{{.*}} : tensor<2x3xf32> -> tensor<2x3xui8>
  // CHECK: return %[[T]]
  %0 = xnn.transpose %x [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %1 = xnn.linear %0, %w, %s {range = array<f32: 0.0, 2.0>} : tensor<2x3xf32>, tensor<3x1xi8>, tensor<1xf32> -> tensor<2x1xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x1xf32>
}

// -----

// 16 bits are two products with the same weights.
// CHECK-LABEL: func.func @sixteen
func.func @sixteen(%x: tensor<3x2xf32>) -> tensor<3x1xf32> {
  // CHECK-DAG: %[[W:.*]] = xnn.constant(dense<{{.*}}> : tensor<2x1xi8>)
  %w = xnn.constant(dense<[[1], [3]]> : tensor<2x1xi8>) : tensor<2x1xi8>
  %s = xnn.constant(dense<[0.5]> : tensor<1xf32>) : tensor<1xf32>
  // CHECK: %[[WHOLE:.*]] = xnn.cast nearest %{{.*}} : tensor<3x2xf32> -> tensor<3x2xi32>
  // CHECK-DAG: %[[UPPER:.*]] = xnn.binary shr %[[WHOLE]]
  // CHECK-DAG: %[[LOWER:.*]] = xnn.binary bit_and %[[WHOLE]]
  // CHECK-DAG: %[[UPPER_CODES:.*]] = xnn.cast %[[UPPER]] : tensor<3x2xi32> -> tensor<3x2xui8>
  // CHECK-DAG: %[[LOWER_CODES:.*]] = xnn.cast %[[LOWER]] : tensor<3x2xi32> -> tensor<3x2xui8>
  // CHECK-DAG: %[[HIGH:.*]] = xnn.linear %[[UPPER_CODES]], %[[W]], %{{.*}} {zero = 128 : i32}
  // CHECK-DAG: %[[LOW:.*]] = xnn.linear %[[LOWER_CODES]], %[[W]], %{{.*}} {zero = 0 : i32}
  // CHECK: xnn.binary add %[[HIGH]], %[[LOW]]
  %0 = xnn.linear %x, %w, %s {range = array<f32: -2.0, 2.0>, bits = 16 : i32} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

// What codes do to the mean of each column is subtracted: together with the layer's own term, -0.5 - 1.0 and 0.25 - 2.0.
// CHECK-LABEL: func.func @corrected
func.func @corrected(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = xnn.constant(dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>) : tensor<2x2xi8>
  %s = xnn.constant(dense<[0.5, 0.25]> : tensor<2xf32>) : tensor<2xf32>
  %a = xnn.constant(dense<[-1.0, -2.0]> : tensor<2xf32>) : tensor<2xf32>
  // CHECK-DAG: %[[TERM:.*]] = xnn.constant(#xnn.values<"columns", "{{.*}}">) : tensor<2xf32>
  // CHECK: %[[SUMS:.*]] = xnn.linear
  // CHECK-NEXT: %[[SUM:.*]] = xnn.binary add %[[SUMS]], %[[TERM]] : tensor<3x2xf32>, tensor<2xf32>
  // CHECK-NEXT: return %[[SUM]]
  %0 = xnn.linear %x, %w, %s {range = array<f32: 0.0, 5.1>, error = array<f32: 0.5, -0.25>} : tensor<3x2xf32>, tensor<2x2xi8>, tensor<2xf32> -> tensor<3x2xf32>
  %1 = xnn.binary add %0, %a : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// -----

// With inputs of 16 bits, too.
// CHECK-LABEL: func.func @sixteen_corrected
func.func @sixteen_corrected(%x: tensor<3x2xf32>) -> tensor<3x1xf32> {
  %w = xnn.constant(dense<[[1], [3]]> : tensor<2x1xi8>) : tensor<2x1xi8>
  %s = xnn.constant(dense<[0.5]> : tensor<1xf32>) : tensor<1xf32>
  // CHECK: %[[LOW:.*]] = xnn.linear %{{.*}} {zero = 0 : i32}
  // CHECK-NEXT: %[[RIGHT:.*]] = xnn.binary add %[[LOW]], %{{.*}} : tensor<3x1xf32>, tensor<1xf32>
  // CHECK-NEXT: xnn.binary add %{{.*}}, %[[RIGHT]]
  %0 = xnn.linear %x, %w, %s {range = array<f32: -2.0, 2.0>, bits = 16 : i32, error = array<f32: 0.5>} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

// And where each row has codes of its own.
// CHECK-LABEL: func.func @rows_corrected
func.func @rows_corrected(%x: tensor<3x2xf32>) -> tensor<3x1xf32> {
  %w = xnn.constant(dense<[[1], [3]]> : tensor<2x1xi8>) : tensor<2x1xi8>
  %s = xnn.constant(dense<[0.5]> : tensor<1xf32>) : tensor<1xf32>
  // CHECK: %[[SUMS:.*]] = xnn.linear %arg0, %{{.*}}, %{{.*}} : tensor<3x2xf32>
  // CHECK-NEXT: xnn.binary add %[[SUMS]], %{{.*}} : tensor<3x1xf32>, tensor<1xf32>
  %0 = xnn.linear %x, %w, %s {error = array<f32: 0.5>} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}
