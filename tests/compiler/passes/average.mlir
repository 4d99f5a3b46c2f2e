// SPDX-License-Identifier: MIT
// A layer becomes the mean of copies, which keep crossbars of their own.
// RUN: sidra-opt %s --xnn-average=copies=3 --canonicalize --cse | FileCheck %s
// RUN: sidra-opt %s --pass-pipeline='builtin.module(xnn-average{copies=2},xnn-group,func.func(xnn-to-xbar))' | FileCheck %s --check-prefix=CALLS
// RUN: not sidra-opt %s --xnn-average=copies=0 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: needs at least one copy of each layer

// CHECK-LABEL: func.func @layer
func.func @layer(%x: tensor<3x2xf32>) -> tensor<3x1xf32> {
  %w = xnn.constant(dense<[[1], [3]]> : tensor<2x1xi8>) : tensor<2x1xi8>
  // The steps are a third of what they were.
  %s = xnn.constant(dense<[0.75]> : tensor<1xf32>) : tensor<1xf32>
  // CHECK-DAG: %[[STEPS:.*]] = xnn.constant(#xnn.values<"columns", "{{.*}}">) : tensor<1xf32>
  // CHECK: %[[FIRST:.*]] = xnn.linear %arg0, %[[W:.*]], %[[STEPS]] : tensor<3x2xf32>
  // CHECK-NEXT: %[[SECOND:.*]] = xnn.linear %arg0, %[[W]], %[[STEPS]] {copy = 1 : i32}
  // CHECK-NEXT: %[[TWO:.*]] = xnn.binary add %[[SECOND]], %[[FIRST]]
  // CHECK-NEXT: %[[THIRD:.*]] = xnn.linear %arg0, %[[W]], %[[STEPS]] {copy = 2 : i32}
  // CHECK-NEXT: %[[ALL:.*]] = xnn.binary add %[[THIRD]], %[[TWO]]
  // CHECK: return %[[ALL]]
  // CALLS-DAG: xbar.weights "weights" "{{.*}}" : <2 x 1>
  // CALLS-DAG: xbar.weights "weights" "{{.*}}" copy 1 : <2 x 1>
  %0 = xnn.linear %x, %w, %s : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// A layer that says how many copies it has gets those.
// CHECK-LABEL: func.func @own
func.func @own(%x: tensor<3x2xf32>) -> tensor<3x1xf32> {
  %w = xnn.constant(dense<[[1], [3]]> : tensor<2x1xi8>) : tensor<2x1xi8>
  %s = xnn.constant(dense<[0.75]> : tensor<1xf32>) : tensor<1xf32>
  // CHECK: xnn.linear %arg0, %{{.*}}, %{{[^{]*}} : tensor<3x2xf32>
  // CHECK-NEXT: xnn.linear %arg0, {{.*}} {copy = 1 : i32}
  // CHECK-NEXT: %[[BOTH:.*]] = xnn.binary add
  // CHECK-NEXT: return %[[BOTH]]
  %0 = xnn.linear %x, %w, %s {copies = 2 : i32} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32> -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}
