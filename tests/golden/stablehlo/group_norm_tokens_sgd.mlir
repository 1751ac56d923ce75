module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x5xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<4xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<4xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2x12xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<2xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>, %arg9: tensor<2xui32>, %arg10: tensor<2x3x5xf32>, %arg11: tensor<2xi32>, %arg12: tensor<2xf32>) -> (tensor<4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x12xf32>, tensor<2xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: group_norm.weight
    // %arg3: group_norm.bias
    // %arg4: dense_1.weight
    // %arg5: dense_1.bias
    // %arg6: step
    // %arg7: learning_rate
    // %arg8: examples
    // %arg9: seed
    // %arg10: inputs
    // %arg11: targets
    // %arg12: weights
    // forward: dense [3, 4]
    %0 = stablehlo.reshape %arg10 : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
    %1 = stablehlo.dot_general %0, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<6x4xf32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
    %3 = stablehlo.add %1, %2 : tensor<6x4xf32>
    %4 = stablehlo.reshape %3 : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
    // forward: group_norm [3, 4]
    %5 = stablehlo.transpose %4, dims = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
    %6 = stablehlo.reshape %5 : (tensor<2x4x3xf32>) -> tensor<4x6xf32>
    %7 = stablehlo.constant dense<0.0> : tensor<f32>
    %8 = stablehlo.reduce(%6 init: %7) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    %9 = stablehlo.constant dense<6.0> : tensor<4xf32>
    %10 = stablehlo.divide %8, %9 : tensor<4xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<4x6xf32>
    %13 = stablehlo.multiply %12, %12 : tensor<4x6xf32>
    %14 = stablehlo.constant dense<0.0> : tensor<f32>
    %15 = stablehlo.reduce(%13 init: %14) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    %16 = stablehlo.constant dense<6.0> : tensor<4xf32>
    %17 = stablehlo.divide %15, %16 : tensor<4xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>
    %19 = stablehlo.constant dense<0.001> : tensor<4x6xf32>
    %20 = stablehlo.add %18, %19 : tensor<4x6xf32>
    %21 = stablehlo.rsqrt %20 : tensor<4x6xf32>
    %22 = stablehlo.multiply %12, %21 : tensor<4x6xf32>
    %23 = stablehlo.reshape %22 : (tensor<4x6xf32>) -> tensor<2x4x3xf32>
    %24 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<4xf32>) -> tensor<2x4x3xf32>
    %25 = stablehlo.multiply %23, %24 : tensor<2x4x3xf32>
    %26 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<4xf32>) -> tensor<2x4x3xf32>
    %27 = stablehlo.add %25, %26 : tensor<2x4x3xf32>
    %28 = stablehlo.transpose %27, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    // forward: flatten [12]
    %29 = stablehlo.reshape %28 : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
    // forward: dense [2]
    %30 = stablehlo.dot_general %29, %arg4, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x12xf32>, tensor<2x12xf32>) -> tensor<2x2xf32>
    %31 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %32 = stablehlo.add %30, %31 : tensor<2x2xf32>
    // loss: cross_entropy
    %33 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %34 = stablehlo.reduce(%32 init: %33) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %36 = stablehlo.subtract %32, %35 : tensor<2x2xf32>
    %37 = stablehlo.exponential %36 : tensor<2x2xf32>
    %38 = stablehlo.constant dense<0.0> : tensor<f32>
    %39 = stablehlo.reduce(%37 init: %38) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %40 = stablehlo.log %39 : tensor<2xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %42 = stablehlo.subtract %36, %41 : tensor<2x2xf32>
    %43 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %44 = stablehlo.divide %37, %43 : tensor<2x2xf32>
    %45 = stablehlo.iota dim = 1 : tensor<2x2xi32>
    %46 = stablehlo.broadcast_in_dim %34, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %47 = stablehlo.broadcast_in_dim %arg11, dims = [0] : (tensor<2xi32>) -> tensor<2x2xi32>
    %48 = stablehlo.compare EQ, %45, %47, SIGNED : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
    %49 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %50 = stablehlo.select %48, %42, %49 : tensor<2x2xi1>, tensor<2x2xf32>
    %51 = stablehlo.constant dense<0.0> : tensor<f32>
    %52 = stablehlo.reduce(%50 init: %51) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %53 = stablehlo.negate %52 : tensor<2xf32>
    %54 = stablehlo.convert %48 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %55 = stablehlo.subtract %44, %54 : tensor<2x2xf32>
    %56 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %57 = stablehlo.compare GT, %arg12, %56, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %58 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %59 = stablehlo.compare NE, %32, %32, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %60 = stablehlo.compare EQ, %32, %46, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %61 = stablehlo.or %60, %59 : tensor<2x2xi1>
    %62 = stablehlo.constant dense<2> : tensor<2x2xi32>
    %63 = stablehlo.select %61, %45, %62 : tensor<2x2xi1>, tensor<2x2xi32>
    %64 = stablehlo.constant dense<2147483647> : tensor<i32>
    %65 = stablehlo.reduce(%63 init: %64) applies stablehlo.minimum across dimensions = [1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %66 = stablehlo.compare EQ, %65, %arg11, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %67 = stablehlo.convert %66 : (tensor<2xi1>) -> tensor<2xf32>
    %68 = stablehlo.select %57, %53, %58 : tensor<2xi1>, tensor<2xf32>
    %69 = stablehlo.reshape %68 : (tensor<2xf32>) -> tensor<1x2xf32>
    %70 = stablehlo.select %57, %arg12, %58 : tensor<2xi1>, tensor<2xf32>
    %71 = stablehlo.reshape %70 : (tensor<2xf32>) -> tensor<1x2xf32>
    %72 = stablehlo.select %57, %67, %58 : tensor<2xi1>, tensor<2xf32>
    %73 = stablehlo.reshape %72 : (tensor<2xf32>) -> tensor<1x2xf32>
    %74 = stablehlo.concatenate %69, %71, %73, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %75 = stablehlo.broadcast_in_dim %arg8, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %76 = stablehlo.divide %arg12, %75 : tensor<2xf32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %78 = stablehlo.multiply %55, %77 : tensor<2x2xf32>
    %79 = stablehlo.constant dense<0.0> : tensor<f32>
    %80 = stablehlo.reduce(%74 init: %79) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %81 = stablehlo.dot_general %78, %29, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x12xf32>) -> tensor<2x12xf32>
    %82 = stablehlo.constant dense<0.0> : tensor<f32>
    %83 = stablehlo.reduce(%78 init: %82) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %84 = stablehlo.dot_general %78, %arg4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x12xf32>) -> tensor<2x12xf32>
    // backward: flatten
    %85 = stablehlo.reshape %84 : (tensor<2x12xf32>) -> tensor<2x3x4xf32>
    // backward: group_norm
    %86 = stablehlo.transpose %85, dims = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
    %87 = stablehlo.multiply %86, %23 : tensor<2x4x3xf32>
    %88 = stablehlo.constant dense<0.0> : tensor<f32>
    %89 = stablehlo.reduce(%87 init: %88) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %90 = stablehlo.constant dense<0.0> : tensor<f32>
    %91 = stablehlo.reduce(%86 init: %90) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %92 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<4xf32>) -> tensor<2x4x3xf32>
    %93 = stablehlo.multiply %86, %92 : tensor<2x4x3xf32>
    %94 = stablehlo.reshape %93 : (tensor<2x4x3xf32>) -> tensor<4x6xf32>
    %95 = stablehlo.constant dense<0.0> : tensor<f32>
    %96 = stablehlo.reduce(%94 init: %95) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    %97 = stablehlo.constant dense<6.0> : tensor<4xf32>
    %98 = stablehlo.divide %96, %97 : tensor<4xf32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>
    %100 = stablehlo.subtract %94, %99 : tensor<4x6xf32>
    %101 = stablehlo.multiply %94, %22 : tensor<4x6xf32>
    %102 = stablehlo.constant dense<0.0> : tensor<f32>
    %103 = stablehlo.reduce(%101 init: %102) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
    %104 = stablehlo.constant dense<6.0> : tensor<4xf32>
    %105 = stablehlo.divide %103, %104 : tensor<4xf32>
    %106 = stablehlo.broadcast_in_dim %105, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>
    %107 = stablehlo.multiply %22, %106 : tensor<4x6xf32>
    %108 = stablehlo.subtract %100, %107 : tensor<4x6xf32>
    %109 = stablehlo.multiply %108, %21 : tensor<4x6xf32>
    %110 = stablehlo.reshape %109 : (tensor<4x6xf32>) -> tensor<2x4x3xf32>
    %111 = stablehlo.transpose %110, dims = [0, 2, 1] : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    // backward: dense
    %112 = stablehlo.reshape %111 : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
    %113 = stablehlo.dot_general %112, %0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x4xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
    %114 = stablehlo.constant dense<0.0> : tensor<f32>
    %115 = stablehlo.reduce(%112 init: %114) applies stablehlo.add across dimensions = [0] : (tensor<6x4xf32>, tensor<f32>) -> tensor<4xf32>
    // update: dense.weight
    %116 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
    %117 = stablehlo.multiply %116, %113 : tensor<4x5xf32>
    %118 = stablehlo.subtract %arg0, %117 : tensor<4x5xf32>
    // update: dense.bias
    %119 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %120 = stablehlo.multiply %119, %115 : tensor<4xf32>
    %121 = stablehlo.subtract %arg1, %120 : tensor<4xf32>
    // update: group_norm.weight
    %122 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %123 = stablehlo.multiply %122, %89 : tensor<4xf32>
    %124 = stablehlo.subtract %arg2, %123 : tensor<4xf32>
    // update: group_norm.bias
    %125 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %126 = stablehlo.multiply %125, %91 : tensor<4xf32>
    %127 = stablehlo.subtract %arg3, %126 : tensor<4xf32>
    // update: dense_1.weight
    %128 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2x12xf32>
    %129 = stablehlo.multiply %128, %81 : tensor<2x12xf32>
    %130 = stablehlo.subtract %arg4, %129 : tensor<2x12xf32>
    // update: dense_1.bias
    %131 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %132 = stablehlo.multiply %131, %83 : tensor<2xf32>
    %133 = stablehlo.subtract %arg5, %132 : tensor<2xf32>
    return %118, %121, %124, %127, %130, %133, %80 : tensor<4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x12xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
