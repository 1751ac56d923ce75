module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x5xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<3xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<3xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<3xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2x12xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<2xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>, %arg9: tensor<2xui32>, %arg10: tensor<2x4x5xf32>, %arg11: tensor<2xi32>, %arg12: tensor<2xf32>) -> (tensor<3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x12xf32>, tensor<2xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: layer_norm.weight
    // %arg3: layer_norm.bias
    // %arg4: dense_1.weight
    // %arg5: dense_1.bias
    // %arg6: step
    // %arg7: learning_rate
    // %arg8: examples
    // %arg9: seed
    // %arg10: inputs
    // %arg11: targets
    // %arg12: weights
    // forward: dense [4, 3]
    %0 = stablehlo.reshape %arg10 : (tensor<2x4x5xf32>) -> tensor<8x5xf32>
    %1 = stablehlo.dot_general %0, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<8x5xf32>, tensor<3x5xf32>) -> tensor<8x3xf32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<8x3xf32>
    %3 = stablehlo.add %1, %2 : tensor<8x3xf32>
    %4 = stablehlo.reshape %3 : (tensor<8x3xf32>) -> tensor<2x4x3xf32>
    // forward: layer_norm [4, 3]
    %5 = stablehlo.reshape %4 : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
    %6 = stablehlo.constant dense<0.0> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
    %8 = stablehlo.constant dense<3.0> : tensor<8xf32>
    %9 = stablehlo.divide %7, %8 : tensor<8xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<8x3xf32>
    %12 = stablehlo.multiply %11, %11 : tensor<8x3xf32>
    %13 = stablehlo.constant dense<0.0> : tensor<f32>
    %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
    %15 = stablehlo.constant dense<3.0> : tensor<8xf32>
    %16 = stablehlo.divide %14, %15 : tensor<8xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>
    %18 = stablehlo.constant dense<0.001> : tensor<8x3xf32>
    %19 = stablehlo.add %17, %18 : tensor<8x3xf32>
    %20 = stablehlo.rsqrt %19 : tensor<8x3xf32>
    %21 = stablehlo.multiply %11, %20 : tensor<8x3xf32>
    %22 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<3xf32>) -> tensor<8x3xf32>
    %23 = stablehlo.multiply %21, %22 : tensor<8x3xf32>
    %24 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<3xf32>) -> tensor<8x3xf32>
    %25 = stablehlo.add %23, %24 : tensor<8x3xf32>
    %26 = stablehlo.reshape %25 : (tensor<8x3xf32>) -> tensor<2x4x3xf32>
    // forward: flatten [12]
    %27 = stablehlo.reshape %26 : (tensor<2x4x3xf32>) -> tensor<2x12xf32>
    // forward: dense [2]
    %28 = stablehlo.dot_general %27, %arg4, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x12xf32>, tensor<2x12xf32>) -> tensor<2x2xf32>
    %29 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %30 = stablehlo.add %28, %29 : tensor<2x2xf32>
    // loss: cross_entropy
    %31 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %32 = stablehlo.reduce(%30 init: %31) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %34 = stablehlo.subtract %30, %33 : tensor<2x2xf32>
    %35 = stablehlo.exponential %34 : tensor<2x2xf32>
    %36 = stablehlo.constant dense<0.0> : tensor<f32>
    %37 = stablehlo.reduce(%35 init: %36) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %38 = stablehlo.log %37 : tensor<2xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %40 = stablehlo.subtract %34, %39 : tensor<2x2xf32>
    %41 = stablehlo.broadcast_in_dim %37, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %42 = stablehlo.divide %35, %41 : tensor<2x2xf32>
    %43 = stablehlo.iota dim = 1 : tensor<2x2xi32>
    %44 = stablehlo.broadcast_in_dim %32, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %45 = stablehlo.broadcast_in_dim %arg11, dims = [0] : (tensor<2xi32>) -> tensor<2x2xi32>
    %46 = stablehlo.compare EQ, %43, %45, SIGNED : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
    %47 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %48 = stablehlo.select %46, %40, %47 : tensor<2x2xi1>, tensor<2x2xf32>
    %49 = stablehlo.constant dense<0.0> : tensor<f32>
    %50 = stablehlo.reduce(%48 init: %49) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %51 = stablehlo.negate %50 : tensor<2xf32>
    %52 = stablehlo.convert %46 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %53 = stablehlo.subtract %42, %52 : tensor<2x2xf32>
    %54 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %55 = stablehlo.compare GT, %arg12, %54, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %56 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %57 = stablehlo.compare NE, %30, %30, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %58 = stablehlo.compare EQ, %30, %44, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %59 = stablehlo.or %58, %57 : tensor<2x2xi1>
    %60 = stablehlo.constant dense<2> : tensor<2x2xi32>
    %61 = stablehlo.select %59, %43, %60 : tensor<2x2xi1>, tensor<2x2xi32>
    %62 = stablehlo.constant dense<2147483647> : tensor<i32>
    %63 = stablehlo.reduce(%61 init: %62) applies stablehlo.minimum across dimensions = [1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %64 = stablehlo.compare EQ, %63, %arg11, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %65 = stablehlo.convert %64 : (tensor<2xi1>) -> tensor<2xf32>
    %66 = stablehlo.select %55, %51, %56 : tensor<2xi1>, tensor<2xf32>
    %67 = stablehlo.reshape %66 : (tensor<2xf32>) -> tensor<1x2xf32>
    %68 = stablehlo.select %55, %arg12, %56 : tensor<2xi1>, tensor<2xf32>
    %69 = stablehlo.reshape %68 : (tensor<2xf32>) -> tensor<1x2xf32>
    %70 = stablehlo.select %55, %65, %56 : tensor<2xi1>, tensor<2xf32>
    %71 = stablehlo.reshape %70 : (tensor<2xf32>) -> tensor<1x2xf32>
    %72 = stablehlo.concatenate %67, %69, %71, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %73 = stablehlo.broadcast_in_dim %arg8, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %74 = stablehlo.divide %arg12, %73 : tensor<2xf32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %76 = stablehlo.multiply %53, %75 : tensor<2x2xf32>
    %77 = stablehlo.constant dense<0.0> : tensor<f32>
    %78 = stablehlo.reduce(%72 init: %77) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %79 = stablehlo.dot_general %76, %27, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x12xf32>) -> tensor<2x12xf32>
    %80 = stablehlo.constant dense<0.0> : tensor<f32>
    %81 = stablehlo.reduce(%76 init: %80) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %82 = stablehlo.dot_general %76, %arg4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x12xf32>) -> tensor<2x12xf32>
    // backward: flatten
    %83 = stablehlo.reshape %82 : (tensor<2x12xf32>) -> tensor<2x4x3xf32>
    // backward: layer_norm
    %84 = stablehlo.reshape %83 : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
    %85 = stablehlo.multiply %84, %21 : tensor<8x3xf32>
    %86 = stablehlo.constant dense<0.0> : tensor<f32>
    %87 = stablehlo.reduce(%85 init: %86) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
    %88 = stablehlo.constant dense<0.0> : tensor<f32>
    %89 = stablehlo.reduce(%84 init: %88) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
    %90 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<3xf32>) -> tensor<8x3xf32>
    %91 = stablehlo.multiply %84, %90 : tensor<8x3xf32>
    %92 = stablehlo.constant dense<0.0> : tensor<f32>
    %93 = stablehlo.reduce(%91 init: %92) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
    %94 = stablehlo.constant dense<3.0> : tensor<8xf32>
    %95 = stablehlo.divide %93, %94 : tensor<8xf32>
    %96 = stablehlo.broadcast_in_dim %95, dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>
    %97 = stablehlo.subtract %91, %96 : tensor<8x3xf32>
    %98 = stablehlo.multiply %91, %21 : tensor<8x3xf32>
    %99 = stablehlo.constant dense<0.0> : tensor<f32>
    %100 = stablehlo.reduce(%98 init: %99) applies stablehlo.add across dimensions = [1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
    %101 = stablehlo.constant dense<3.0> : tensor<8xf32>
    %102 = stablehlo.divide %100, %101 : tensor<8xf32>
    %103 = stablehlo.broadcast_in_dim %102, dims = [0] : (tensor<8xf32>) -> tensor<8x3xf32>
    %104 = stablehlo.multiply %21, %103 : tensor<8x3xf32>
    %105 = stablehlo.subtract %97, %104 : tensor<8x3xf32>
    %106 = stablehlo.multiply %105, %20 : tensor<8x3xf32>
    %107 = stablehlo.reshape %106 : (tensor<8x3xf32>) -> tensor<2x4x3xf32>
    // backward: dense
    %108 = stablehlo.reshape %107 : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
    %109 = stablehlo.dot_general %108, %0, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x3xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
    %110 = stablehlo.constant dense<0.0> : tensor<f32>
    %111 = stablehlo.reduce(%108 init: %110) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
    // update: dense.weight
    %112 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %113 = stablehlo.multiply %112, %109 : tensor<3x5xf32>
    %114 = stablehlo.subtract %arg0, %113 : tensor<3x5xf32>
    // update: dense.bias
    %115 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %116 = stablehlo.multiply %115, %111 : tensor<3xf32>
    %117 = stablehlo.subtract %arg1, %116 : tensor<3xf32>
    // update: layer_norm.weight
    %118 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %119 = stablehlo.multiply %118, %87 : tensor<3xf32>
    %120 = stablehlo.subtract %arg2, %119 : tensor<3xf32>
    // update: layer_norm.bias
    %121 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %122 = stablehlo.multiply %121, %89 : tensor<3xf32>
    %123 = stablehlo.subtract %arg3, %122 : tensor<3xf32>
    // update: dense_1.weight
    %124 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2x12xf32>
    %125 = stablehlo.multiply %124, %79 : tensor<2x12xf32>
    %126 = stablehlo.subtract %arg4, %125 : tensor<2x12xf32>
    // update: dense_1.bias
    %127 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %128 = stablehlo.multiply %127, %81 : tensor<2xf32>
    %129 = stablehlo.subtract %arg5, %128 : tensor<2xf32>
    return %114, %117, %120, %123, %126, %129, %78 : tensor<3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x12xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
