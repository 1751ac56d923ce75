module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x12xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<5xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<3x5xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<3xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<5x12xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<5xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<3x5xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<3xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<5x12xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<5xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<3x5xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<3xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<f32>, %arg13: tensor<f32>, %arg14: tensor<f32>, %arg15: tensor<2xui32>, %arg16: tensor<4x3x2x2xui8>, %arg17: tensor<4xi32>, %arg18: tensor<4xf32>) -> (tensor<5x12xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<3xf32>, tensor<5x12xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<3xf32>, tensor<5x12xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<3xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: dense_1.weight
    // %arg3: dense_1.bias
    // %arg4: optimizer.average.dense.weight
    // %arg5: optimizer.average.dense.bias
    // %arg6: optimizer.average.dense_1.weight
    // %arg7: optimizer.average.dense_1.bias
    // %arg8: optimizer.square_average.dense.weight
    // %arg9: optimizer.square_average.dense.bias
    // %arg10: optimizer.square_average.dense_1.weight
    // %arg11: optimizer.square_average.dense_1.bias
    // %arg12: step
    // %arg13: learning_rate
    // %arg14: examples
    // %arg15: seed
    // %arg16: inputs
    // %arg17: targets
    // %arg18: weights
    %0 = stablehlo.convert %arg16 : (tensor<4x3x2x2xui8>) -> tensor<4x3x2x2xf32>
    %1 = stablehlo.constant dense<255.0> : tensor<4x3x2x2xf32>
    %2 = stablehlo.divide %0, %1 : tensor<4x3x2x2xf32>
    %3 = stablehlo.constant dense<[0.5, 0.4, 0.3]> : tensor<3xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<3xf32>) -> tensor<4x3x2x2xf32>
    %5 = stablehlo.subtract %2, %4 : tensor<4x3x2x2xf32>
    %6 = stablehlo.constant dense<[0.2, 0.3, 0.4]> : tensor<3xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<3xf32>) -> tensor<4x3x2x2xf32>
    %8 = stablehlo.divide %5, %7 : tensor<4x3x2x2xf32>
    // forward: flatten [12]
    %9 = stablehlo.reshape %8 : (tensor<4x3x2x2xf32>) -> tensor<4x12xf32>
    // forward: dense [5]
    %10 = stablehlo.dot_general %9, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x12xf32>, tensor<5x12xf32>) -> tensor<4x5xf32>
    %11 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<5xf32>) -> tensor<4x5xf32>
    %12 = stablehlo.add %10, %11 : tensor<4x5xf32>
    // forward: relu [5]
    %13 = stablehlo.constant dense<0.0> : tensor<4x5xf32>
    %14 = stablehlo.maximum %12, %13 : tensor<4x5xf32>
    // forward: dense [3]
    %15 = stablehlo.dot_general %14, %arg2, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x5xf32>, tensor<3x5xf32>) -> tensor<4x3xf32>
    %16 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %17 = stablehlo.add %15, %16 : tensor<4x3xf32>
    // loss: cross_entropy
    %18 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.reduce(%17 init: %18) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %21 = stablehlo.subtract %17, %20 : tensor<4x3xf32>
    %22 = stablehlo.exponential %21 : tensor<4x3xf32>
    %23 = stablehlo.constant dense<0.0> : tensor<f32>
    %24 = stablehlo.reduce(%22 init: %23) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %25 = stablehlo.log %24 : tensor<4xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %27 = stablehlo.subtract %21, %26 : tensor<4x3xf32>
    %28 = stablehlo.broadcast_in_dim %24, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %29 = stablehlo.divide %22, %28 : tensor<4x3xf32>
    %30 = stablehlo.iota dim = 1 : tensor<4x3xi32>
    %31 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %32 = stablehlo.broadcast_in_dim %arg17, dims = [0] : (tensor<4xi32>) -> tensor<4x3xi32>
    %33 = stablehlo.compare EQ, %30, %32, SIGNED : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
    %34 = stablehlo.constant dense<0.0> : tensor<4x3xf32>
    %35 = stablehlo.select %33, %27, %34 : tensor<4x3xi1>, tensor<4x3xf32>
    %36 = stablehlo.constant dense<0.0> : tensor<f32>
    %37 = stablehlo.reduce(%35 init: %36) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %38 = stablehlo.negate %37 : tensor<4xf32>
    %39 = stablehlo.convert %33 : (tensor<4x3xi1>) -> tensor<4x3xf32>
    %40 = stablehlo.subtract %29, %39 : tensor<4x3xf32>
    %41 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %42 = stablehlo.compare GT, %arg18, %41, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %43 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %44 = stablehlo.compare NE, %17, %17, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %45 = stablehlo.compare EQ, %17, %31, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %46 = stablehlo.or %45, %44 : tensor<4x3xi1>
    %47 = stablehlo.constant dense<3> : tensor<4x3xi32>
    %48 = stablehlo.select %46, %30, %47 : tensor<4x3xi1>, tensor<4x3xi32>
    %49 = stablehlo.constant dense<2147483647> : tensor<i32>
    %50 = stablehlo.reduce(%48 init: %49) applies stablehlo.minimum across dimensions = [1] : (tensor<4x3xi32>, tensor<i32>) -> tensor<4xi32>
    %51 = stablehlo.compare EQ, %50, %arg17, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %52 = stablehlo.convert %51 : (tensor<4xi1>) -> tensor<4xf32>
    %53 = stablehlo.select %42, %38, %43 : tensor<4xi1>, tensor<4xf32>
    %54 = stablehlo.reshape %53 : (tensor<4xf32>) -> tensor<1x4xf32>
    %55 = stablehlo.select %42, %arg18, %43 : tensor<4xi1>, tensor<4xf32>
    %56 = stablehlo.reshape %55 : (tensor<4xf32>) -> tensor<1x4xf32>
    %57 = stablehlo.select %42, %52, %43 : tensor<4xi1>, tensor<4xf32>
    %58 = stablehlo.reshape %57 : (tensor<4xf32>) -> tensor<1x4xf32>
    %59 = stablehlo.concatenate %54, %56, %58, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
    %60 = stablehlo.broadcast_in_dim %arg14, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %61 = stablehlo.divide %arg18, %60 : tensor<4xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %63 = stablehlo.multiply %40, %62 : tensor<4x3xf32>
    %64 = stablehlo.constant dense<0.0> : tensor<f32>
    %65 = stablehlo.reduce(%59 init: %64) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %66 = stablehlo.dot_general %63, %14, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %67 = stablehlo.constant dense<0.0> : tensor<f32>
    %68 = stablehlo.reduce(%63 init: %67) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
    %69 = stablehlo.dot_general %63, %arg2, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    // backward: relu
    %70 = stablehlo.constant dense<0.0> : tensor<4x5xf32>
    %71 = stablehlo.compare LE, %14, %70, FLOAT : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xi1>
    %72 = stablehlo.constant dense<0.0> : tensor<4x5xf32>
    %73 = stablehlo.select %71, %72, %69 : tensor<4x5xi1>, tensor<4x5xf32>
    // backward: dense
    %74 = stablehlo.dot_general %73, %9, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x5xf32>, tensor<4x12xf32>) -> tensor<5x12xf32>
    %75 = stablehlo.constant dense<0.0> : tensor<f32>
    %76 = stablehlo.reduce(%73 init: %75) applies stablehlo.add across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
    %77 = stablehlo.constant dense<-0.105360515> : tensor<f32>
    %78 = stablehlo.multiply %arg12, %77 : tensor<f32>
    %79 = stablehlo.exponential_minus_one %78 : tensor<f32>
    %80 = stablehlo.negate %79 : tensor<f32>
    %81 = stablehlo.divide %arg13, %80 : tensor<f32>
    %82 = stablehlo.constant dense<-0.0010005003> : tensor<f32>
    %83 = stablehlo.multiply %arg12, %82 : tensor<f32>
    %84 = stablehlo.exponential_minus_one %83 : tensor<f32>
    %85 = stablehlo.negate %84 : tensor<f32>
    %86 = stablehlo.rsqrt %85 : tensor<f32>
    // update: dense.weight
    %87 = stablehlo.constant dense<0.01> : tensor<5x12xf32>
    %88 = stablehlo.multiply %arg0, %87 : tensor<5x12xf32>
    %89 = stablehlo.add %74, %88 : tensor<5x12xf32>
    %90 = stablehlo.subtract %89, %arg4 : tensor<5x12xf32>
    %91 = stablehlo.constant dense<0.1> : tensor<5x12xf32>
    %92 = stablehlo.multiply %90, %91 : tensor<5x12xf32>
    %93 = stablehlo.add %arg4, %92 : tensor<5x12xf32>
    %94 = stablehlo.multiply %89, %89 : tensor<5x12xf32>
    %95 = stablehlo.constant dense<0.001> : tensor<5x12xf32>
    %96 = stablehlo.multiply %94, %95 : tensor<5x12xf32>
    %97 = stablehlo.constant dense<0.999> : tensor<5x12xf32>
    %98 = stablehlo.multiply %arg8, %97 : tensor<5x12xf32>
    %99 = stablehlo.add %98, %96 : tensor<5x12xf32>
    %100 = stablehlo.sqrt %99 : tensor<5x12xf32>
    %101 = stablehlo.broadcast_in_dim %86, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %102 = stablehlo.multiply %100, %101 : tensor<5x12xf32>
    %103 = stablehlo.constant dense<1.0e-08> : tensor<5x12xf32>
    %104 = stablehlo.add %102, %103 : tensor<5x12xf32>
    %105 = stablehlo.broadcast_in_dim %81, dims = [] : (tensor<f32>) -> tensor<5x12xf32>
    %106 = stablehlo.multiply %105, %93 : tensor<5x12xf32>
    %107 = stablehlo.divide %106, %104 : tensor<5x12xf32>
    %108 = stablehlo.subtract %arg0, %107 : tensor<5x12xf32>
    // update: dense.bias
    %109 = stablehlo.subtract %76, %arg5 : tensor<5xf32>
    %110 = stablehlo.constant dense<0.1> : tensor<5xf32>
    %111 = stablehlo.multiply %109, %110 : tensor<5xf32>
    %112 = stablehlo.add %arg5, %111 : tensor<5xf32>
    %113 = stablehlo.multiply %76, %76 : tensor<5xf32>
    %114 = stablehlo.constant dense<0.001> : tensor<5xf32>
    %115 = stablehlo.multiply %113, %114 : tensor<5xf32>
    %116 = stablehlo.constant dense<0.999> : tensor<5xf32>
    %117 = stablehlo.multiply %arg9, %116 : tensor<5xf32>
    %118 = stablehlo.add %117, %115 : tensor<5xf32>
    %119 = stablehlo.sqrt %118 : tensor<5xf32>
    %120 = stablehlo.broadcast_in_dim %86, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %121 = stablehlo.multiply %119, %120 : tensor<5xf32>
    %122 = stablehlo.constant dense<1.0e-08> : tensor<5xf32>
    %123 = stablehlo.add %121, %122 : tensor<5xf32>
    %124 = stablehlo.broadcast_in_dim %81, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %125 = stablehlo.multiply %124, %112 : tensor<5xf32>
    %126 = stablehlo.divide %125, %123 : tensor<5xf32>
    %127 = stablehlo.subtract %arg1, %126 : tensor<5xf32>
    // update: dense_1.weight
    %128 = stablehlo.constant dense<0.01> : tensor<3x5xf32>
    %129 = stablehlo.multiply %arg2, %128 : tensor<3x5xf32>
    %130 = stablehlo.add %66, %129 : tensor<3x5xf32>
    %131 = stablehlo.subtract %130, %arg6 : tensor<3x5xf32>
    %132 = stablehlo.constant dense<0.1> : tensor<3x5xf32>
    %133 = stablehlo.multiply %131, %132 : tensor<3x5xf32>
    %134 = stablehlo.add %arg6, %133 : tensor<3x5xf32>
    %135 = stablehlo.multiply %130, %130 : tensor<3x5xf32>
    %136 = stablehlo.constant dense<0.001> : tensor<3x5xf32>
    %137 = stablehlo.multiply %135, %136 : tensor<3x5xf32>
    %138 = stablehlo.constant dense<0.999> : tensor<3x5xf32>
    %139 = stablehlo.multiply %arg10, %138 : tensor<3x5xf32>
    %140 = stablehlo.add %139, %137 : tensor<3x5xf32>
    %141 = stablehlo.sqrt %140 : tensor<3x5xf32>
    %142 = stablehlo.broadcast_in_dim %86, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %143 = stablehlo.multiply %141, %142 : tensor<3x5xf32>
    %144 = stablehlo.constant dense<1.0e-08> : tensor<3x5xf32>
    %145 = stablehlo.add %143, %144 : tensor<3x5xf32>
    %146 = stablehlo.broadcast_in_dim %81, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %147 = stablehlo.multiply %146, %134 : tensor<3x5xf32>
    %148 = stablehlo.divide %147, %145 : tensor<3x5xf32>
    %149 = stablehlo.subtract %arg2, %148 : tensor<3x5xf32>
    // update: dense_1.bias
    %150 = stablehlo.subtract %68, %arg7 : tensor<3xf32>
    %151 = stablehlo.constant dense<0.1> : tensor<3xf32>
    %152 = stablehlo.multiply %150, %151 : tensor<3xf32>
    %153 = stablehlo.add %arg7, %152 : tensor<3xf32>
    %154 = stablehlo.multiply %68, %68 : tensor<3xf32>
    %155 = stablehlo.constant dense<0.001> : tensor<3xf32>
    %156 = stablehlo.multiply %154, %155 : tensor<3xf32>
    %157 = stablehlo.constant dense<0.999> : tensor<3xf32>
    %158 = stablehlo.multiply %arg11, %157 : tensor<3xf32>
    %159 = stablehlo.add %158, %156 : tensor<3xf32>
    %160 = stablehlo.sqrt %159 : tensor<3xf32>
    %161 = stablehlo.broadcast_in_dim %86, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %162 = stablehlo.multiply %160, %161 : tensor<3xf32>
    %163 = stablehlo.constant dense<1.0e-08> : tensor<3xf32>
    %164 = stablehlo.add %162, %163 : tensor<3xf32>
    %165 = stablehlo.broadcast_in_dim %81, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %166 = stablehlo.multiply %165, %153 : tensor<3xf32>
    %167 = stablehlo.divide %166, %164 : tensor<3xf32>
    %168 = stablehlo.subtract %arg3, %167 : tensor<3xf32>
    return %108, %127, %149, %168, %93, %112, %134, %153, %99, %118, %140, %159, %65 : tensor<5x12xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<3xf32>, tensor<5x12xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<3xf32>, tensor<5x12xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
