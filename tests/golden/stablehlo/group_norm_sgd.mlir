module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x1x1x1xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<4xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<4xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2x24xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<2xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>, %arg9: tensor<2xui32>, %arg10: tensor<2x1x3x2xf32>, %arg11: tensor<2xi32>, %arg12: tensor<2xf32>) -> (tensor<4x1x1x1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x24xf32>, tensor<2xf32>, tensor<3xf32>) {
    // %arg0: conv2d.weight
    // %arg1: conv2d.bias
    // %arg2: group_norm.weight
    // %arg3: group_norm.bias
    // %arg4: dense.weight
    // %arg5: dense.bias
    // %arg6: step
    // %arg7: learning_rate
    // %arg8: examples
    // %arg9: seed
    // %arg10: inputs
    // %arg11: targets
    // %arg12: weights
    // forward: conv2d [4, 3, 2]
    %0 = stablehlo.convolution(%arg10, %arg0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x1x3x2xf32>, tensor<4x1x1x1xf32>) -> tensor<2x4x3x2xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf32>) -> tensor<2x4x3x2xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x4x3x2xf32>
    // forward: group_norm [4, 3, 2]
    %3 = stablehlo.reshape %2 : (tensor<2x4x3x2xf32>) -> tensor<4x12xf32>
    %4 = stablehlo.constant dense<0.0> : tensor<f32>
    %5 = stablehlo.reduce(%3 init: %4) applies stablehlo.add across dimensions = [1] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
    %6 = stablehlo.constant dense<12.0> : tensor<4xf32>
    %7 = stablehlo.divide %5, %6 : tensor<4xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<4xf32>) -> tensor<4x12xf32>
    %9 = stablehlo.subtract %3, %8 : tensor<4x12xf32>
    %10 = stablehlo.multiply %9, %9 : tensor<4x12xf32>
    %11 = stablehlo.constant dense<0.0> : tensor<f32>
    %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.add across dimensions = [1] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
    %13 = stablehlo.constant dense<12.0> : tensor<4xf32>
    %14 = stablehlo.divide %12, %13 : tensor<4xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<4xf32>) -> tensor<4x12xf32>
    %16 = stablehlo.constant dense<0.001> : tensor<4x12xf32>
    %17 = stablehlo.add %15, %16 : tensor<4x12xf32>
    %18 = stablehlo.rsqrt %17 : tensor<4x12xf32>
    %19 = stablehlo.multiply %9, %18 : tensor<4x12xf32>
    %20 = stablehlo.reshape %19 : (tensor<4x12xf32>) -> tensor<2x4x3x2xf32>
    %21 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<4xf32>) -> tensor<2x4x3x2xf32>
    %22 = stablehlo.multiply %20, %21 : tensor<2x4x3x2xf32>
    %23 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<4xf32>) -> tensor<2x4x3x2xf32>
    %24 = stablehlo.add %22, %23 : tensor<2x4x3x2xf32>
    // forward: flatten [24]
    %25 = stablehlo.reshape %24 : (tensor<2x4x3x2xf32>) -> tensor<2x24xf32>
    // forward: dense [2]
    %26 = stablehlo.dot_general %25, %arg4, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x24xf32>, tensor<2x24xf32>) -> tensor<2x2xf32>
    %27 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %28 = stablehlo.add %26, %27 : tensor<2x2xf32>
    // loss: cross_entropy
    %29 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %30 = stablehlo.reduce(%28 init: %29) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %32 = stablehlo.subtract %28, %31 : tensor<2x2xf32>
    %33 = stablehlo.exponential %32 : tensor<2x2xf32>
    %34 = stablehlo.constant dense<0.0> : tensor<f32>
    %35 = stablehlo.reduce(%33 init: %34) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %36 = stablehlo.log %35 : tensor<2xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %38 = stablehlo.subtract %32, %37 : tensor<2x2xf32>
    %39 = stablehlo.broadcast_in_dim %35, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %40 = stablehlo.divide %33, %39 : tensor<2x2xf32>
    %41 = stablehlo.iota dim = 1 : tensor<2x2xi32>
    %42 = stablehlo.broadcast_in_dim %30, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %43 = stablehlo.broadcast_in_dim %arg11, dims = [0] : (tensor<2xi32>) -> tensor<2x2xi32>
    %44 = stablehlo.compare EQ, %41, %43, SIGNED : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
    %45 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %46 = stablehlo.select %44, %38, %45 : tensor<2x2xi1>, tensor<2x2xf32>
    %47 = stablehlo.constant dense<0.0> : tensor<f32>
    %48 = stablehlo.reduce(%46 init: %47) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %49 = stablehlo.negate %48 : tensor<2xf32>
    %50 = stablehlo.convert %44 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %51 = stablehlo.subtract %40, %50 : tensor<2x2xf32>
    %52 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %53 = stablehlo.compare GT, %arg12, %52, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %54 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %55 = stablehlo.compare NE, %28, %28, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %56 = stablehlo.compare EQ, %28, %42, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %57 = stablehlo.or %56, %55 : tensor<2x2xi1>
    %58 = stablehlo.constant dense<2> : tensor<2x2xi32>
    %59 = stablehlo.select %57, %41, %58 : tensor<2x2xi1>, tensor<2x2xi32>
    %60 = stablehlo.constant dense<2147483647> : tensor<i32>
    %61 = stablehlo.reduce(%59 init: %60) applies stablehlo.minimum across dimensions = [1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %62 = stablehlo.compare EQ, %61, %arg11, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %63 = stablehlo.convert %62 : (tensor<2xi1>) -> tensor<2xf32>
    %64 = stablehlo.select %53, %49, %54 : tensor<2xi1>, tensor<2xf32>
    %65 = stablehlo.reshape %64 : (tensor<2xf32>) -> tensor<1x2xf32>
    %66 = stablehlo.select %53, %arg12, %54 : tensor<2xi1>, tensor<2xf32>
    %67 = stablehlo.reshape %66 : (tensor<2xf32>) -> tensor<1x2xf32>
    %68 = stablehlo.select %53, %63, %54 : tensor<2xi1>, tensor<2xf32>
    %69 = stablehlo.reshape %68 : (tensor<2xf32>) -> tensor<1x2xf32>
    %70 = stablehlo.concatenate %65, %67, %69, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %71 = stablehlo.broadcast_in_dim %arg8, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %72 = stablehlo.divide %arg12, %71 : tensor<2xf32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %74 = stablehlo.multiply %51, %73 : tensor<2x2xf32>
    %75 = stablehlo.constant dense<0.0> : tensor<f32>
    %76 = stablehlo.reduce(%70 init: %75) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %77 = stablehlo.dot_general %74, %25, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x24xf32>) -> tensor<2x24xf32>
    %78 = stablehlo.constant dense<0.0> : tensor<f32>
    %79 = stablehlo.reduce(%74 init: %78) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %80 = stablehlo.dot_general %74, %arg4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x24xf32>) -> tensor<2x24xf32>
    // backward: flatten
    %81 = stablehlo.reshape %80 : (tensor<2x24xf32>) -> tensor<2x4x3x2xf32>
    // backward: group_norm
    %82 = stablehlo.multiply %81, %20 : tensor<2x4x3x2xf32>
    %83 = stablehlo.constant dense<0.0> : tensor<f32>
    %84 = stablehlo.reduce(%82 init: %83) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x4x3x2xf32>, tensor<f32>) -> tensor<4xf32>
    %85 = stablehlo.constant dense<0.0> : tensor<f32>
    %86 = stablehlo.reduce(%81 init: %85) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x4x3x2xf32>, tensor<f32>) -> tensor<4xf32>
    %87 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<4xf32>) -> tensor<2x4x3x2xf32>
    %88 = stablehlo.multiply %81, %87 : tensor<2x4x3x2xf32>
    %89 = stablehlo.reshape %88 : (tensor<2x4x3x2xf32>) -> tensor<4x12xf32>
    %90 = stablehlo.constant dense<0.0> : tensor<f32>
    %91 = stablehlo.reduce(%89 init: %90) applies stablehlo.add across dimensions = [1] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
    %92 = stablehlo.constant dense<12.0> : tensor<4xf32>
    %93 = stablehlo.divide %91, %92 : tensor<4xf32>
    %94 = stablehlo.broadcast_in_dim %93, dims = [0] : (tensor<4xf32>) -> tensor<4x12xf32>
    %95 = stablehlo.subtract %89, %94 : tensor<4x12xf32>
    %96 = stablehlo.multiply %89, %19 : tensor<4x12xf32>
    %97 = stablehlo.constant dense<0.0> : tensor<f32>
    %98 = stablehlo.reduce(%96 init: %97) applies stablehlo.add across dimensions = [1] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
    %99 = stablehlo.constant dense<12.0> : tensor<4xf32>
    %100 = stablehlo.divide %98, %99 : tensor<4xf32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [0] : (tensor<4xf32>) -> tensor<4x12xf32>
    %102 = stablehlo.multiply %19, %101 : tensor<4x12xf32>
    %103 = stablehlo.subtract %95, %102 : tensor<4x12xf32>
    %104 = stablehlo.multiply %103, %18 : tensor<4x12xf32>
    %105 = stablehlo.reshape %104 : (tensor<4x12xf32>) -> tensor<2x4x3x2xf32>
    // backward: conv2d
    %106 = stablehlo.constant dense<0.0> : tensor<f32>
    %107 = stablehlo.pad %arg10, %106, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<2x1x3x2xf32>, tensor<f32>) -> tensor<2x1x3x2xf32>
    %108 = stablehlo.slice %107 [0:2, 0:1, 0:3, 0:2] : (tensor<2x1x3x2xf32>) -> tensor<2x1x3x2xf32>
    %109 = stablehlo.concatenate %108, dim = 1 : (tensor<2x1x3x2xf32>) -> tensor<2x1x3x2xf32>
    %110 = stablehlo.transpose %109, dims = [1, 0, 2, 3] : (tensor<2x1x3x2xf32>) -> tensor<1x2x3x2xf32>
    %111 = stablehlo.reshape %110 : (tensor<1x2x3x2xf32>) -> tensor<1x12xf32>
    %112 = stablehlo.transpose %105, dims = [1, 0, 2, 3] : (tensor<2x4x3x2xf32>) -> tensor<4x2x3x2xf32>
    %113 = stablehlo.reshape %112 : (tensor<4x2x3x2xf32>) -> tensor<4x12xf32>
    %114 = stablehlo.dot_general %113, %111, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x12xf32>, tensor<1x12xf32>) -> tensor<4x1xf32>
    %115 = stablehlo.reshape %114 : (tensor<4x1xf32>) -> tensor<4x1x1x1xf32>
    %116 = stablehlo.transpose %115, dims = [0, 3, 1, 2] : (tensor<4x1x1x1xf32>) -> tensor<4x1x1x1xf32>
    %117 = stablehlo.constant dense<0.0> : tensor<f32>
    %118 = stablehlo.reduce(%105 init: %117) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x4x3x2xf32>, tensor<f32>) -> tensor<4xf32>
    // update: conv2d.weight
    %119 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<4x1x1x1xf32>
    %120 = stablehlo.multiply %119, %116 : tensor<4x1x1x1xf32>
    %121 = stablehlo.subtract %arg0, %120 : tensor<4x1x1x1xf32>
    // update: conv2d.bias
    %122 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %123 = stablehlo.multiply %122, %118 : tensor<4xf32>
    %124 = stablehlo.subtract %arg1, %123 : tensor<4xf32>
    // update: group_norm.weight
    %125 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %126 = stablehlo.multiply %125, %84 : tensor<4xf32>
    %127 = stablehlo.subtract %arg2, %126 : tensor<4xf32>
    // update: group_norm.bias
    %128 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %129 = stablehlo.multiply %128, %86 : tensor<4xf32>
    %130 = stablehlo.subtract %arg3, %129 : tensor<4xf32>
    // update: dense.weight
    %131 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2x24xf32>
    %132 = stablehlo.multiply %131, %77 : tensor<2x24xf32>
    %133 = stablehlo.subtract %arg4, %132 : tensor<2x24xf32>
    // update: dense.bias
    %134 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %135 = stablehlo.multiply %134, %79 : tensor<2xf32>
    %136 = stablehlo.subtract %arg5, %135 : tensor<2xf32>
    return %121, %124, %127, %130, %133, %136, %76 : tensor<4x1x1x1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x24xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
