module @forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%arg0: tensor<2x1x1x1xf32>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>, %arg3: tensor<2xf32>, %arg4: tensor<3x18xf32>, %arg5: tensor<3xf32>, %arg6: tensor<2xf32>, %arg7: tensor<2xf32>, %arg8: tensor<2x1x3x3xui8>) -> (tensor<2x3xf32>) {
    // %arg0: first.weight
    // %arg1: first.bias
    // %arg2: batch_norm.weight
    // %arg3: batch_norm.bias
    // %arg4: dense.weight
    // %arg5: dense.bias
    // %arg6: batch_norm.running_mean
    // %arg7: batch_norm.running_var
    // %arg8: inputs
    %0 = stablehlo.convert %arg8 : (tensor<2x1x3x3xui8>) -> tensor<2x1x3x3xf32>
    %1 = stablehlo.constant dense<255.0> : tensor<2x1x3x3xf32>
    %2 = stablehlo.divide %0, %1 : tensor<2x1x3x3xf32>
    %3 = stablehlo.constant dense<0.0> : tensor<2x1x3x3xf32>
    %4 = stablehlo.subtract %2, %3 : tensor<2x1x3x3xf32>
    %5 = stablehlo.constant dense<1.0> : tensor<2x1x3x3xf32>
    %6 = stablehlo.divide %4, %5 : tensor<2x1x3x3xf32>
    // forward: conv2d [2, 3, 3]
    %7 = stablehlo.convolution(%6, %arg0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x1x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<2x2x3x3xf32>
    %8 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %9 = stablehlo.add %7, %8 : tensor<2x2x3x3xf32>
    // forward: batch_norm [2, 3, 3]
    %10 = stablehlo.constant dense<0.001> : tensor<2xf32>
    %11 = stablehlo.add %arg7, %10 : tensor<2xf32>
    %12 = stablehlo.rsqrt %11 : tensor<2xf32>
    %13 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %14 = stablehlo.subtract %9, %13 : tensor<2x2x3x3xf32>
    %15 = stablehlo.multiply %12, %arg2 : tensor<2xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %17 = stablehlo.multiply %14, %16 : tensor<2x2x3x3xf32>
    %18 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %19 = stablehlo.add %17, %18 : tensor<2x2x3x3xf32>
    // forward: relu [2, 3, 3]
    %20 = stablehlo.constant dense<0.0> : tensor<2x2x3x3xf32>
    %21 = stablehlo.maximum %19, %20 : tensor<2x2x3x3xf32>
    // forward: add [2, 3, 3]
    %22 = stablehlo.add %21, %9 : tensor<2x2x3x3xf32>
    // forward: flatten [18]
    %23 = stablehlo.reshape %22 : (tensor<2x2x3x3xf32>) -> tensor<2x18xf32>
    // forward: dense [3]
    %24 = stablehlo.dot_general %23, %arg4, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x18xf32>, tensor<3x18xf32>) -> tensor<2x3xf32>
    %25 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %26 = stablehlo.add %24, %25 : tensor<2x3xf32>
    return %26 : tensor<2x3xf32>
  }
}
