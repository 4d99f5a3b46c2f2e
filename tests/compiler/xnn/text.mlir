// SPDX-License-Identifier: MIT
// What is printed can be parsed again.
// RUN: sidra-opt %s | sidra-opt | FileCheck %s

// CHECK-LABEL: func.func @network
// CHECK-SAME: {xnn.name = "image"}
func.func @network(%image: tensor<1x8x8x3xf32> {xnn.name = "image"}) -> (tensor<1x10xf32> {xnn.name = "scores"}) {
  // CHECK: xnn.constant(#xnn.values<"filters", "00ff">) : tensor<3x3x3x4xf32>
  %filters = xnn.constant(#xnn.values<"filters", "00ff">) : tensor<3x3x3x4xf32>
  // CHECK: xnn.conv %{{.*}}, %{{.*}} <[3, 3], stride = [2, 2], before = [1, 1], after = [1, 1], dilation = [1, 1]> groups 1
  %0 = xnn.conv %image, %filters <[3, 3], stride = [2, 2], before = [1, 1], after = [1, 1], dilation = [1, 1]> groups 1
    : tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32> -> tensor<1x4x4x4xf32>
  // CHECK: xnn.pool max
  %1 = xnn.pool max %0 <[2, 2], stride = [2, 2], before = [0, 0], after = [0, 0], dilation = [1, 1]>
    : tensor<1x4x4x4xf32> -> tensor<1x2x2x4xf32>
  %2 = xnn.reshape %1 : tensor<1x2x2x4xf32> -> tensor<1x16xf32>
  %weights = xnn.constant(dense<1> : tensor<16x10xi8>) : tensor<16x10xi8>
  %scale = xnn.constant(dense<0.5> : tensor<10xf32>) : tensor<10xf32>
  // CHECK: xnn.linear
  %3 = xnn.linear %2, %weights, %scale : tensor<1x16xf32>, tensor<16x10xi8>, tensor<10xf32> -> tensor<1x10xf32>
  // CHECK: xnn.group (%{{.*}} = %{{.*}} : tensor<1x10xf32>) -> (tensor<1x10xf32>)
  %4 = xnn.group (%x = %3 : tensor<1x10xf32>) -> (tensor<1x10xf32>) {
    // CHECK: xnn.reduce max
    %m = xnn.reduce max %x : tensor<1x10xf32> -> tensor<1x1xf32>
    // CHECK: xnn.binary sub
    %d = xnn.binary sub %x, %m : tensor<1x10xf32>, tensor<1x1xf32> -> tensor<1x10xf32>
    // CHECK: xnn.yield
    xnn.yield %d : tensor<1x10xf32>
  }
  return %4 : tensor<1x10xf32>
}

// CHECK-LABEL: func.func @elements
func.func @elements(%x: tensor<2x3xf32>, %i: tensor<4xi32>) -> (tensor<2x3xi8>, tensor<4x3xf32>, tensor<2x2xi64>) {
  // CHECK: xnn.unary gelu
  %0 = xnn.unary gelu %x : tensor<2x3xf32>
  // CHECK: xnn.cast nearest
  %1 = xnn.cast nearest %0 : tensor<2x3xf32> -> tensor<2x3xi8>
  // CHECK: xnn.gather
  %2 = xnn.gather %x, %i : tensor<2x3xf32>, tensor<4xi32> -> tensor<4x3xf32>
  // CHECK: xnn.sort descending
  %3, %4 = xnn.sort descending %x : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x2xi64>
  return %1, %2, %4 : tensor<2x3xi8>, tensor<4x3xf32>, tensor<2x2xi64>
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<2x3xf32>) -> tensor<3x6xf32> {
  // CHECK: xnn.transpose %{{.*}} [1, 0]
  %0 = xnn.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  // CHECK: xnn.slice %{{.*}} starts [2, 0] steps [-1, 1]
  %1 = xnn.slice %0 starts [2, 0] steps [-1, 1] : tensor<3x2xf32> -> tensor<3x2xf32>
  // CHECK: xnn.pad %{{.*}} before [0, 1] after [0, 1] value(5.000000e-01 : f32)
  %2 = xnn.pad %1 before [0, 1] after [0, 1] value (0.5 : f32) : tensor<3x2xf32> -> tensor<3x4xf32>
  // CHECK: xnn.concat %{{.*}}, %{{.*}} axis 1
  %3 = xnn.concat %2, %1 axis 1 : tensor<3x4xf32>, tensor<3x2xf32> -> tensor<3x6xf32>
  return %3 : tensor<3x6xf32>
}
