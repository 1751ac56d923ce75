module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x2x3x3xf64> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf64> {tf.aliasing_output = 1 : i32}, %arg2: tensor<4x2x3x3xf64> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2x4xf64> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2xf64> {tf.aliasing_output = 4 : i32}, %arg5: tensor<4x2x3x3xf64> {tf.aliasing_output = 5 : i32}, %arg6: tensor<4xf64> {tf.aliasing_output = 6 : i32}, %arg7: tensor<4x2x3x3xf64> {tf.aliasing_output = 7 : i32}, %arg8: tensor<2x4xf64> {tf.aliasing_output = 8 : i32}, %arg9: tensor<2xf64> {tf.aliasing_output = 9 : i32}, %arg10: tensor<f32>, %arg11: tensor<f32>, %arg12: tensor<f32>, %arg13: tensor<2xui32>, %arg14: tensor<3x2x12x10xf64>, %arg15: tensor<3xi32>, %arg16: tensor<3xf32>) -> (tensor<4x2x3x3xf64>, tensor<4xf64>, tensor<4x2x3x3xf64>, tensor<2x4xf64>, tensor<2xf64>, tensor<4x2x3x3xf64>, tensor<4xf64>, tensor<4x2x3x3xf64>, tensor<2x4xf64>, tensor<2xf64>, tensor<3xf32>) {
    // %arg0: conv2d.weight
    // %arg1: conv2d.bias
    // %arg2: conv2d_1.weight
    // %arg3: dense.weight
    // %arg4: dense.bias
    // %arg5: optimizer.momentum.conv2d.weight
    // %arg6: optimizer.momentum.conv2d.bias
    // %arg7: optimizer.momentum.conv2d_1.weight
    // %arg8: optimizer.momentum.dense.weight
    // %arg9: optimizer.momentum.dense.bias
    // %arg10: step
    // %arg11: learning_rate
    // %arg12: examples
    // %arg13: seed
    // %arg14: inputs
    // %arg15: targets
    // %arg16: weights
    %0 = stablehlo.convert %arg10 : (tensor<f32>) -> tensor<f64>
    %1 = stablehlo.convert %arg11 : (tensor<f32>) -> tensor<f64>
    %2 = stablehlo.convert %arg12 : (tensor<f32>) -> tensor<f64>
    %3 = stablehlo.convert %arg16 : (tensor<3xf32>) -> tensor<3xf64>
    // forward: conv2d [4, 6, 5]
    %4 = stablehlo.convolution(%arg14, %arg0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<3x2x12x10xf64>, tensor<4x2x3x3xf64>) -> tensor<3x4x6x5xf64>
    %5 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf64>) -> tensor<3x4x6x5xf64>
    %6 = stablehlo.add %4, %5 : tensor<3x4x6x5xf64>
    // forward: conv2d [4, 6, 5]
    %7 = stablehlo.convolution(%6, %arg2) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<3x4x6x5xf64>, tensor<4x2x3x3xf64>) -> tensor<3x4x6x5xf64>
    // forward: max_pool2d [4, 6, 5]
    %8 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %9 = stablehlo.pad %7, %8, low = [0, 0, 1, 1], high = [0, 0, 1, 1], interior = [0, 0, 0, 0] : (tensor<3x4x6x5xf64>, tensor<f64>) -> tensor<3x4x8x7xf64>
    %10 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %14 = "stablehlo.reduce_window"(%9, %10) <{padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 1, 1>}> ({
      ^bb0(%11: tensor<f64>, %12: tensor<f64>):
        %13 = stablehlo.maximum %11, %12 : tensor<f64>
        stablehlo.return %13 : tensor<f64>
    }) : (tensor<3x4x8x7xf64>, tensor<f64>) -> tensor<3x4x6x5xf64>
    // forward: avg_pool2d [4, 3, 3]
    %15 = stablehlo.constant dense<[[4.0, 4.0, 2.0], [4.0, 4.0, 2.0], [4.0, 4.0, 2.0]]> : tensor<3x3xf64>
    %16 = stablehlo.broadcast_in_dim %15, dims = [2, 3] : (tensor<3x3xf64>) -> tensor<3x4x3x3xf64>
    %17 = stablehlo.constant dense<0.0> : tensor<f64>
    %21 = "stablehlo.reduce_window"(%14, %17) <{padding = dense<[[0, 0], [0, 0], [0, 0], [0, 1]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
      ^bb0(%18: tensor<f64>, %19: tensor<f64>):
        %20 = stablehlo.add %18, %19 : tensor<f64>
        stablehlo.return %20 : tensor<f64>
    }) : (tensor<3x4x6x5xf64>, tensor<f64>) -> tensor<3x4x3x3xf64>
    %22 = stablehlo.divide %21, %16 : tensor<3x4x3x3xf64>
    // forward: adaptive_avg_pool2d [4, 2, 2]
    %23 = stablehlo.constant dense<[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]> : tensor<2x3xf64>
    %24 = stablehlo.constant dense<[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]> : tensor<2x3xf64>
    %25 = stablehlo.dot_general %22, %24, contracting_dims = [3] x [1], precision = [HIGHEST, HIGHEST] : (tensor<3x4x3x3xf64>, tensor<2x3xf64>) -> tensor<3x4x3x2xf64>
    %26 = stablehlo.dot_general %25, %23, contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<3x4x3x2xf64>, tensor<2x3xf64>) -> tensor<3x4x2x2xf64>
    %27 = stablehlo.transpose %26, dims = [0, 1, 3, 2] : (tensor<3x4x2x2xf64>) -> tensor<3x4x2x2xf64>
    // forward: global_avg_pool2d [4]
    %28 = stablehlo.constant dense<0.0> : tensor<f64>
    %29 = stablehlo.reduce(%27 init: %28) applies stablehlo.add across dimensions = [2, 3] : (tensor<3x4x2x2xf64>, tensor<f64>) -> tensor<3x4xf64>
    %30 = stablehlo.constant dense<4.0> : tensor<3x4xf64>
    %31 = stablehlo.divide %29, %30 : tensor<3x4xf64>
    // forward: dense [2]
    %32 = stablehlo.dot_general %31, %arg3, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<3x4xf64>, tensor<2x4xf64>) -> tensor<3x2xf64>
    %33 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<2xf64>) -> tensor<3x2xf64>
    %34 = stablehlo.add %32, %33 : tensor<3x2xf64>
    // loss: cross_entropy
    %35 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %36 = stablehlo.reduce(%34 init: %35) applies stablehlo.maximum across dimensions = [1] : (tensor<3x2xf64>, tensor<f64>) -> tensor<3xf64>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0] : (tensor<3xf64>) -> tensor<3x2xf64>
    %38 = stablehlo.subtract %34, %37 : tensor<3x2xf64>
    %39 = stablehlo.exponential %38 : tensor<3x2xf64>
    %40 = stablehlo.constant dense<0.0> : tensor<f64>
    %41 = stablehlo.reduce(%39 init: %40) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf64>, tensor<f64>) -> tensor<3xf64>
    %42 = stablehlo.log %41 : tensor<3xf64>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0] : (tensor<3xf64>) -> tensor<3x2xf64>
    %44 = stablehlo.subtract %38, %43 : tensor<3x2xf64>
    %45 = stablehlo.broadcast_in_dim %41, dims = [0] : (tensor<3xf64>) -> tensor<3x2xf64>
    %46 = stablehlo.divide %39, %45 : tensor<3x2xf64>
    %47 = stablehlo.iota dim = 1 : tensor<3x2xi32>
    %48 = stablehlo.broadcast_in_dim %36, dims = [0] : (tensor<3xf64>) -> tensor<3x2xf64>
    %49 = stablehlo.broadcast_in_dim %arg15, dims = [0] : (tensor<3xi32>) -> tensor<3x2xi32>
    %50 = stablehlo.compare EQ, %47, %49, SIGNED : (tensor<3x2xi32>, tensor<3x2xi32>) -> tensor<3x2xi1>
    %51 = stablehlo.constant dense<0.0> : tensor<3x2xf64>
    %52 = stablehlo.select %50, %44, %51 : tensor<3x2xi1>, tensor<3x2xf64>
    %53 = stablehlo.constant dense<0.0> : tensor<f64>
    %54 = stablehlo.reduce(%52 init: %53) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf64>, tensor<f64>) -> tensor<3xf64>
    %55 = stablehlo.negate %54 : tensor<3xf64>
    %56 = stablehlo.convert %50 : (tensor<3x2xi1>) -> tensor<3x2xf64>
    %57 = stablehlo.subtract %46, %56 : tensor<3x2xf64>
    %58 = stablehlo.constant dense<0.0> : tensor<3xf64>
    %59 = stablehlo.compare GT, %3, %58, FLOAT : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
    %60 = stablehlo.constant dense<0.0> : tensor<3xf64>
    %61 = stablehlo.compare NE, %34, %34, FLOAT : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xi1>
    %62 = stablehlo.compare EQ, %34, %48, FLOAT : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xi1>
    %63 = stablehlo.or %62, %61 : tensor<3x2xi1>
    %64 = stablehlo.constant dense<2> : tensor<3x2xi32>
    %65 = stablehlo.select %63, %47, %64 : tensor<3x2xi1>, tensor<3x2xi32>
    %66 = stablehlo.constant dense<2147483647> : tensor<i32>
    %67 = stablehlo.reduce(%65 init: %66) applies stablehlo.minimum across dimensions = [1] : (tensor<3x2xi32>, tensor<i32>) -> tensor<3xi32>
    %68 = stablehlo.compare EQ, %67, %arg15, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %69 = stablehlo.convert %68 : (tensor<3xi1>) -> tensor<3xf64>
    %70 = stablehlo.select %59, %55, %60 : tensor<3xi1>, tensor<3xf64>
    %71 = stablehlo.reshape %70 : (tensor<3xf64>) -> tensor<1x3xf64>
    %72 = stablehlo.select %59, %3, %60 : tensor<3xi1>, tensor<3xf64>
    %73 = stablehlo.reshape %72 : (tensor<3xf64>) -> tensor<1x3xf64>
    %74 = stablehlo.select %59, %69, %60 : tensor<3xi1>, tensor<3xf64>
    %75 = stablehlo.reshape %74 : (tensor<3xf64>) -> tensor<1x3xf64>
    %76 = stablehlo.concatenate %71, %73, %75, dim = 0 : (tensor<1x3xf64>, tensor<1x3xf64>, tensor<1x3xf64>) -> tensor<3x3xf64>
    %77 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %78 = stablehlo.divide %3, %77 : tensor<3xf64>
    %79 = stablehlo.broadcast_in_dim %78, dims = [0] : (tensor<3xf64>) -> tensor<3x2xf64>
    %80 = stablehlo.multiply %57, %79 : tensor<3x2xf64>
    %81 = stablehlo.constant dense<0.0> : tensor<f64>
    %82 = stablehlo.reduce(%76 init: %81) applies stablehlo.add across dimensions = [1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<3xf64>
    // backward: dense
    %83 = stablehlo.dot_general %80, %31, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x2xf64>, tensor<3x4xf64>) -> tensor<2x4xf64>
    %84 = stablehlo.constant dense<0.0> : tensor<f64>
    %85 = stablehlo.reduce(%80 init: %84) applies stablehlo.add across dimensions = [0] : (tensor<3x2xf64>, tensor<f64>) -> tensor<2xf64>
    %86 = stablehlo.dot_general %80, %arg3, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x2xf64>, tensor<2x4xf64>) -> tensor<3x4xf64>
    // backward: global_avg_pool2d
    %87 = stablehlo.constant dense<4.0> : tensor<3x4xf64>
    %88 = stablehlo.divide %86, %87 : tensor<3x4xf64>
    %89 = stablehlo.broadcast_in_dim %88, dims = [0, 1] : (tensor<3x4xf64>) -> tensor<3x4x2x2xf64>
    // backward: adaptive_avg_pool2d
    %90 = stablehlo.dot_general %89, %24, contracting_dims = [3] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4x2x2xf64>, tensor<2x3xf64>) -> tensor<3x4x2x3xf64>
    %91 = stablehlo.dot_general %90, %23, contracting_dims = [2] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x4x2x3xf64>, tensor<2x3xf64>) -> tensor<3x4x3x3xf64>
    %92 = stablehlo.transpose %91, dims = [0, 1, 3, 2] : (tensor<3x4x3x3xf64>) -> tensor<3x4x3x3xf64>
    // backward: avg_pool2d
    %93 = stablehlo.divide %92, %16 : tensor<3x4x3x3xf64>
    %94 = stablehlo.constant dense<0.0> : tensor<f64>
    %95 = stablehlo.pad %93, %94, low = [0, 0, 1, 1], high = [0, 0, 1, 0], interior = [0, 0, 1, 1] : (tensor<3x4x3x3xf64>, tensor<f64>) -> tensor<3x4x7x6xf64>
    %96 = stablehlo.constant dense<0.0> : tensor<f64>
    %100 = "stablehlo.reduce_window"(%95, %96) <{padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 1, 1>}> ({
      ^bb0(%97: tensor<f64>, %98: tensor<f64>):
        %99 = stablehlo.add %97, %98 : tensor<f64>
        stablehlo.return %99 : tensor<f64>
    }) : (tensor<3x4x7x6xf64>, tensor<f64>) -> tensor<3x4x6x5xf64>
    // backward: max_pool2d
    %101 = stablehlo.constant dense<0.0> : tensor<f64>
    %108 = "stablehlo.select_and_scatter"(%9, %100, %101) <{padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 1, 1>}> ({
      ^bb0(%102: tensor<f64>, %103: tensor<f64>):
        %104 = stablehlo.compare GE, %102, %103, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %104 : tensor<i1>
    }, {
      ^bb0(%105: tensor<f64>, %106: tensor<f64>):
        %107 = stablehlo.add %105, %106 : tensor<f64>
        stablehlo.return %107 : tensor<f64>
    }) : (tensor<3x4x8x7xf64>, tensor<3x4x6x5xf64>, tensor<f64>) -> tensor<3x4x8x7xf64>
    %109 = stablehlo.slice %108 [0:3, 0:4, 1:7, 1:6] : (tensor<3x4x8x7xf64>) -> tensor<3x4x6x5xf64>
    // backward: conv2d
    %110 = stablehlo.convolution(%6, %109) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<3x4x6x5xf64>, tensor<3x4x6x5xf64>) -> tensor<4x2x3x3xf64>
    %111 = stablehlo.reverse %arg2, dims = [2, 3] : tensor<4x2x3x3xf64>
    %112 = stablehlo.reshape %111 : (tensor<4x2x3x3xf64>) -> tensor<2x2x2x3x3xf64>
    %113 = stablehlo.transpose %112, dims = [0, 2, 1, 3, 4] : (tensor<2x2x2x3x3xf64>) -> tensor<2x2x2x3x3xf64>
    %114 = stablehlo.reshape %113 : (tensor<2x2x2x3x3xf64>) -> tensor<4x2x3x3xf64>
    %115 = stablehlo.convolution(%109, %114) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<3x4x6x5xf64>, tensor<4x2x3x3xf64>) -> tensor<3x4x6x5xf64>
    // backward: conv2d
    %116 = stablehlo.constant dense<0.0> : tensor<f64>
    %117 = stablehlo.pad %arg14, %116, low = [0, 0, 0, 0], high = [0, 0, 1, 1], interior = [0, 0, 0, 0] : (tensor<3x2x12x10xf64>, tensor<f64>) -> tensor<3x2x13x11xf64>
    %118 = stablehlo.slice %117 [0:3, 0:2, 0:11:2, 0:9:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %119 = stablehlo.slice %117 [0:3, 0:2, 0:11:2, 1:10:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %120 = stablehlo.slice %117 [0:3, 0:2, 0:11:2, 2:11:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %121 = stablehlo.slice %117 [0:3, 0:2, 1:12:2, 0:9:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %122 = stablehlo.slice %117 [0:3, 0:2, 1:12:2, 1:10:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %123 = stablehlo.slice %117 [0:3, 0:2, 1:12:2, 2:11:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %124 = stablehlo.slice %117 [0:3, 0:2, 2:13:2, 0:9:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %125 = stablehlo.slice %117 [0:3, 0:2, 2:13:2, 1:10:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %126 = stablehlo.slice %117 [0:3, 0:2, 2:13:2, 2:11:2] : (tensor<3x2x13x11xf64>) -> tensor<3x2x6x5xf64>
    %127 = stablehlo.concatenate %118, %119, %120, %121, %122, %123, %124, %125, %126, dim = 1 : (tensor<3x2x6x5xf64>, tensor<3x2x6x5xf64>, tensor<3x2x6x5xf64>, tensor<3x2x6x5xf64>, tensor<3x2x6x5xf64>, tensor<3x2x6x5xf64>, tensor<3x2x6x5xf64>, tensor<3x2x6x5xf64>, tensor<3x2x6x5xf64>) -> tensor<3x18x6x5xf64>
    %128 = stablehlo.transpose %127, dims = [1, 0, 2, 3] : (tensor<3x18x6x5xf64>) -> tensor<18x3x6x5xf64>
    %129 = stablehlo.reshape %128 : (tensor<18x3x6x5xf64>) -> tensor<18x90xf64>
    %130 = stablehlo.transpose %115, dims = [1, 0, 2, 3] : (tensor<3x4x6x5xf64>) -> tensor<4x3x6x5xf64>
    %131 = stablehlo.reshape %130 : (tensor<4x3x6x5xf64>) -> tensor<4x90xf64>
    %132 = stablehlo.dot_general %131, %129, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x90xf64>, tensor<18x90xf64>) -> tensor<4x18xf64>
    %133 = stablehlo.reshape %132 : (tensor<4x18xf64>) -> tensor<4x3x3x2xf64>
    %134 = stablehlo.transpose %133, dims = [0, 3, 1, 2] : (tensor<4x3x3x2xf64>) -> tensor<4x2x3x3xf64>
    %135 = stablehlo.constant dense<0.0> : tensor<f64>
    %136 = stablehlo.reduce(%115 init: %135) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<3x4x6x5xf64>, tensor<f64>) -> tensor<4xf64>
    // update: conv2d.weight
    %137 = stablehlo.constant dense<0.9> : tensor<4x2x3x3xf64>
    %138 = stablehlo.multiply %arg5, %137 : tensor<4x2x3x3xf64>
    %139 = stablehlo.add %138, %134 : tensor<4x2x3x3xf64>
    %140 = stablehlo.constant dense<0.9> : tensor<4x2x3x3xf64>
    %141 = stablehlo.multiply %139, %140 : tensor<4x2x3x3xf64>
    %142 = stablehlo.add %134, %141 : tensor<4x2x3x3xf64>
    %143 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<4x2x3x3xf64>
    %144 = stablehlo.multiply %143, %142 : tensor<4x2x3x3xf64>
    %145 = stablehlo.subtract %arg0, %144 : tensor<4x2x3x3xf64>
    // update: conv2d.bias
    %146 = stablehlo.constant dense<0.9> : tensor<4xf64>
    %147 = stablehlo.multiply %arg6, %146 : tensor<4xf64>
    %148 = stablehlo.add %147, %136 : tensor<4xf64>
    %149 = stablehlo.constant dense<0.9> : tensor<4xf64>
    %150 = stablehlo.multiply %148, %149 : tensor<4xf64>
    %151 = stablehlo.add %136, %150 : tensor<4xf64>
    %152 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<4xf64>
    %153 = stablehlo.multiply %152, %151 : tensor<4xf64>
    %154 = stablehlo.subtract %arg1, %153 : tensor<4xf64>
    // update: conv2d_1.weight
    %155 = stablehlo.constant dense<0.9> : tensor<4x2x3x3xf64>
    %156 = stablehlo.multiply %arg7, %155 : tensor<4x2x3x3xf64>
    %157 = stablehlo.add %156, %110 : tensor<4x2x3x3xf64>
    %158 = stablehlo.constant dense<0.9> : tensor<4x2x3x3xf64>
    %159 = stablehlo.multiply %157, %158 : tensor<4x2x3x3xf64>
    %160 = stablehlo.add %110, %159 : tensor<4x2x3x3xf64>
    %161 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<4x2x3x3xf64>
    %162 = stablehlo.multiply %161, %160 : tensor<4x2x3x3xf64>
    %163 = stablehlo.subtract %arg2, %162 : tensor<4x2x3x3xf64>
    // update: dense.weight
    %164 = stablehlo.constant dense<0.9> : tensor<2x4xf64>
    %165 = stablehlo.multiply %arg8, %164 : tensor<2x4xf64>
    %166 = stablehlo.add %165, %83 : tensor<2x4xf64>
    %167 = stablehlo.constant dense<0.9> : tensor<2x4xf64>
    %168 = stablehlo.multiply %166, %167 : tensor<2x4xf64>
    %169 = stablehlo.add %83, %168 : tensor<2x4xf64>
    %170 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %171 = stablehlo.multiply %170, %169 : tensor<2x4xf64>
    %172 = stablehlo.subtract %arg3, %171 : tensor<2x4xf64>
    // update: dense.bias
    %173 = stablehlo.constant dense<0.9> : tensor<2xf64>
    %174 = stablehlo.multiply %arg9, %173 : tensor<2xf64>
    %175 = stablehlo.add %174, %85 : tensor<2xf64>
    %176 = stablehlo.constant dense<0.9> : tensor<2xf64>
    %177 = stablehlo.multiply %175, %176 : tensor<2xf64>
    %178 = stablehlo.add %85, %177 : tensor<2xf64>
    %179 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f64>) -> tensor<2xf64>
    %180 = stablehlo.multiply %179, %178 : tensor<2xf64>
    %181 = stablehlo.subtract %arg4, %180 : tensor<2xf64>
    %182 = stablehlo.convert %82 : (tensor<3xf64>) -> tensor<3xf32>
    return %145, %154, %163, %172, %181, %139, %148, %157, %166, %175, %182 : tensor<4x2x3x3xf64>, tensor<4xf64>, tensor<4x2x3x3xf64>, tensor<2x4xf64>, tensor<2xf64>, tensor<4x2x3x3xf64>, tensor<4xf64>, tensor<4x2x3x3xf64>, tensor<2x4xf64>, tensor<2xf64>, tensor<3xf32>
  }
}
