// SPDX-License-Identifier: MIT
// Critical columns are on three crossbars, and the median of the results counts.
// RUN: sidra-opt %s --xnn-vote=share=1 | FileCheck %s --check-prefix=ALL
// RUN: sidra-opt %s --xnn-vote=share=0.3 | FileCheck %s --check-prefix=SOME
// RUN: sidra-opt %s --xnn-vote | FileCheck %s --check-prefix=NONE
// RUN: sidra-opt %s --pass-pipeline='builtin.module(xnn-average{copies=2},xnn-vote{share=1},xnn-group,func.func(xnn-to-xbar))' | FileCheck %s --check-prefix=CALLS
// RUN: not sidra-opt %s --xnn-vote=share=2 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: needs a share of the columns from 0 to 1

func.func @layer(%x: tensor<3x2xf32>) -> tensor<3x3xf32> {
  %w = xnn.constant(dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>) : tensor<2x3xi8>
  // The second column has the largest factor.
  %s = xnn.constant(dense<[0.5, -2.0, 1.0]> : tensor<3xf32>) : tensor<3xf32>
  // ALL: %[[FIRST:.*]] = xnn.linear %arg0, %[[W:.*]], %[[S:.*]] : tensor<3x2xf32>
  // ALL-NEXT: %[[SECOND:.*]] = xnn.linear %arg0, %[[W]], %[[S]] {copy = 64 : i32}
  // ALL-NEXT: %[[THIRD:.*]] = xnn.linear %arg0, %[[W]], %[[S]] {copy = 128 : i32}
  // ALL-DAG: %[[LOW:.*]] = xnn.binary min %[[SECOND]], %[[THIRD]]
  // ALL-DAG: %[[HIGH:.*]] = xnn.binary max %[[SECOND]], %[[THIRD]]
  // ALL: %[[INNER:.*]] = xnn.binary min %[[HIGH]], %[[FIRST]]
  // ALL-NEXT: %[[MEDIAN:.*]] = xnn.binary max %[[LOW]], %[[INNER]]
  // ALL-NEXT: return %[[MEDIAN]]
  // One column votes, and the columns get back into their order.
  // SOME: %[[FIRST:.*]] = xnn.linear %arg0, {{.*}} : tensor<3x2xf32>, tensor<2x3xi8>, tensor<3xf32>
  // SOME: %[[SECOND:.*]] = xnn.linear %arg0, {{.*}} {copy = 64 : i32} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32>
  // SOME: %[[THIRD:.*]] = xnn.linear %arg0, {{.*}} {copy = 128 : i32} : tensor<3x2xf32>, tensor<2x1xi8>, tensor<1xf32>
  // SOME: xnn.slice %[[FIRST]]
  // SOME: %[[MEDIAN:.*]] = xnn.binary max
  // SOME: xnn.concat
  // SOME: dense<[1, 0, 2]>
  // SOME: xnn.gather
  // NONE: xnn.linear
  // NONE-NOT: xnn.linear
  // CALLS-DAG: xbar.weights "weights" "{{.*}}" : <2 x 3>
  // CALLS-DAG: xbar.weights "weights" "{{.*}}" copy 1 : <2 x 3>
  // CALLS-DAG: xbar.weights "weights" "{{.*}}" copy 64 : <2 x 3>
  // CALLS-DAG: xbar.weights "weights" "{{.*}}" copy 65 : <2 x 3>
  // CALLS-DAG: xbar.weights "weights" "{{.*}}" copy 128 : <2 x 3>
  // CALLS-DAG: xbar.weights "weights" "{{.*}}" copy 129 : <2 x 3>
  %0 = xnn.linear %x, %w, %s : tensor<3x2xf32>, tensor<2x3xi8>, tensor<3xf32> -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
