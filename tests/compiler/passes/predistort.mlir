// SPDX-License-Identifier: MIT
// Weights and factors change; layers with the same weights keep sharing them.
// RUN: sidra-opt %s --xnn-predistort --cse | FileCheck %s

// CHECK-LABEL: func.func @layer
func.func @layer(%x: tensor<3x2xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>) {
  %w = xnn.constant(dense<[[1], [3]]> : tensor<2x1xi8>) : tensor<2x1xi8>
  %s = xnn.constant(dense<[0.75]> : tensor<1xf32>) : tensor<1xf32>
  // CHECK-DAG: %[[W:.*]] = xnn.constant(#xnn.values<"weights", "{{.*}}">) : tensor<2x1xi8>
  // CHECK-DAG: %[[S:.*]] = xnn.constant(#xnn.values<"columns", "{{.*}}">) : tensor<1xf32>
  // CHECK: xnn.linear %arg0, %[[W]], %[[S]] : tensor<3x2xf32>
  // CHECK-NEXT: xnn.linear %arg0, %[[W]], %[[S]] {copy = 1 : i32}
  %0 = xnn.linear %x, %w, %s : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  %1 = xnn.linear %x, %w, %s {copy = 1 : i32} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0, %1 : tensor<3x1xf32>, tensor<3x1xf32>
}
