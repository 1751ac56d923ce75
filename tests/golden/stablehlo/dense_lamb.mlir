module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2x3xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2x3xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<2xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>, %arg9: tensor<2xui32>, %arg10: tensor<2x3xf32>, %arg11: tensor<2xi32>, %arg12: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: optimizer.average.dense.weight
    // %arg3: optimizer.average.dense.bias
    // %arg4: optimizer.square_average.dense.weight
    // %arg5: optimizer.square_average.dense.bias
    // %arg6: step
    // %arg7: learning_rate
    // %arg8: examples
    // %arg9: seed
    // %arg10: inputs
    // %arg11: targets
    // %arg12: weights
    // forward: dense [2]
    %0 = stablehlo.dot_general %arg10, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x2xf32>
    // loss: cross_entropy
    %3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %6 = stablehlo.subtract %2, %5 : tensor<2x2xf32>
    %7 = stablehlo.exponential %6 : tensor<2x2xf32>
    %8 = stablehlo.constant dense<0.0> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %10 = stablehlo.log %9 : tensor<2xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<2x2xf32>
    %13 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %14 = stablehlo.divide %7, %13 : tensor<2x2xf32>
    %15 = stablehlo.iota dim = 1 : tensor<2x2xi32>
    %16 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %17 = stablehlo.broadcast_in_dim %arg11, dims = [0] : (tensor<2xi32>) -> tensor<2x2xi32>
    %18 = stablehlo.compare EQ, %15, %17, SIGNED : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
    %19 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %20 = stablehlo.select %18, %12, %19 : tensor<2x2xi1>, tensor<2x2xf32>
    %21 = stablehlo.constant dense<0.0> : tensor<f32>
    %22 = stablehlo.reduce(%20 init: %21) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %23 = stablehlo.negate %22 : tensor<2xf32>
    %24 = stablehlo.convert %18 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %25 = stablehlo.subtract %14, %24 : tensor<2x2xf32>
    %26 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %27 = stablehlo.compare GT, %arg12, %26, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %28 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %29 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %30 = stablehlo.compare EQ, %2, %16, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %31 = stablehlo.or %30, %29 : tensor<2x2xi1>
    %32 = stablehlo.constant dense<2> : tensor<2x2xi32>
    %33 = stablehlo.select %31, %15, %32 : tensor<2x2xi1>, tensor<2x2xi32>
    %34 = stablehlo.constant dense<2147483647> : tensor<i32>
    %35 = stablehlo.reduce(%33 init: %34) applies stablehlo.minimum across dimensions = [1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %36 = stablehlo.compare EQ, %35, %arg11, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %37 = stablehlo.convert %36 : (tensor<2xi1>) -> tensor<2xf32>
    %38 = stablehlo.select %27, %23, %28 : tensor<2xi1>, tensor<2xf32>
    %39 = stablehlo.reshape %38 : (tensor<2xf32>) -> tensor<1x2xf32>
    %40 = stablehlo.select %27, %arg12, %28 : tensor<2xi1>, tensor<2xf32>
    %41 = stablehlo.reshape %40 : (tensor<2xf32>) -> tensor<1x2xf32>
    %42 = stablehlo.select %27, %37, %28 : tensor<2xi1>, tensor<2xf32>
    %43 = stablehlo.reshape %42 : (tensor<2xf32>) -> tensor<1x2xf32>
    %44 = stablehlo.concatenate %39, %41, %43, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %45 = stablehlo.broadcast_in_dim %arg8, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %46 = stablehlo.divide %arg12, %45 : tensor<2xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %48 = stablehlo.multiply %25, %47 : tensor<2x2xf32>
    %49 = stablehlo.constant dense<0.0> : tensor<f32>
    %50 = stablehlo.reduce(%44 init: %49) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %51 = stablehlo.dot_general %48, %arg10, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %52 = stablehlo.constant dense<0.0> : tensor<f32>
    %53 = stablehlo.reduce(%48 init: %52) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %54 = stablehlo.constant dense<-0.105360515> : tensor<f32>
    %55 = stablehlo.multiply %arg6, %54 : tensor<f32>
    %56 = stablehlo.exponential_minus_one %55 : tensor<f32>
    %57 = stablehlo.negate %56 : tensor<f32>
    %58 = stablehlo.constant dense<-0.0010005003> : tensor<f32>
    %59 = stablehlo.multiply %arg6, %58 : tensor<f32>
    %60 = stablehlo.exponential_minus_one %59 : tensor<f32>
    %61 = stablehlo.negate %60 : tensor<f32>
    %62 = stablehlo.rsqrt %61 : tensor<f32>
    // update: dense.weight
    %63 = stablehlo.subtract %51, %arg2 : tensor<2x3xf32>
    %64 = stablehlo.constant dense<0.1> : tensor<2x3xf32>
    %65 = stablehlo.multiply %63, %64 : tensor<2x3xf32>
    %66 = stablehlo.add %arg2, %65 : tensor<2x3xf32>
    %67 = stablehlo.multiply %51, %51 : tensor<2x3xf32>
    %68 = stablehlo.constant dense<0.001> : tensor<2x3xf32>
    %69 = stablehlo.multiply %67, %68 : tensor<2x3xf32>
    %70 = stablehlo.constant dense<0.999> : tensor<2x3xf32>
    %71 = stablehlo.multiply %arg4, %70 : tensor<2x3xf32>
    %72 = stablehlo.add %71, %69 : tensor<2x3xf32>
    %73 = stablehlo.sqrt %72 : tensor<2x3xf32>
    %74 = stablehlo.broadcast_in_dim %62, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %75 = stablehlo.multiply %73, %74 : tensor<2x3xf32>
    %76 = stablehlo.constant dense<1.0e-06> : tensor<2x3xf32>
    %77 = stablehlo.add %75, %76 : tensor<2x3xf32>
    %78 = stablehlo.broadcast_in_dim %57, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %79 = stablehlo.divide %66, %78 : tensor<2x3xf32>
    %80 = stablehlo.divide %79, %77 : tensor<2x3xf32>
    %81 = stablehlo.constant dense<0.01> : tensor<2x3xf32>
    %82 = stablehlo.multiply %arg0, %81 : tensor<2x3xf32>
    %83 = stablehlo.add %80, %82 : tensor<2x3xf32>
    %84 = stablehlo.multiply %arg0, %arg0 : tensor<2x3xf32>
    %85 = stablehlo.constant dense<0.0> : tensor<f32>
    %86 = stablehlo.reduce(%84 init: %85) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %87 = stablehlo.sqrt %86 : tensor<f32>
    %88 = stablehlo.multiply %83, %83 : tensor<2x3xf32>
    %89 = stablehlo.constant dense<0.0> : tensor<f32>
    %90 = stablehlo.reduce(%88 init: %89) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %91 = stablehlo.sqrt %90 : tensor<f32>
    %92 = stablehlo.constant dense<1.0> : tensor<f32>
    %93 = stablehlo.multiply %87, %92 : tensor<f32>
    %94 = stablehlo.divide %93, %91 : tensor<f32>
    %95 = stablehlo.constant dense<0.0> : tensor<f32>
    %96 = stablehlo.constant dense<1.0> : tensor<f32>
    %97 = stablehlo.compare GT, %91, %95, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %98 = stablehlo.select %97, %94, %96 : tensor<i1>, tensor<f32>
    %99 = stablehlo.compare GT, %87, %95, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %100 = stablehlo.select %99, %98, %96 : tensor<i1>, tensor<f32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %102 = stablehlo.multiply %83, %101 : tensor<2x3xf32>
    %103 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %104 = stablehlo.multiply %103, %102 : tensor<2x3xf32>
    %105 = stablehlo.subtract %arg0, %104 : tensor<2x3xf32>
    // update: dense.bias
    %106 = stablehlo.subtract %53, %arg3 : tensor<2xf32>
    %107 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %108 = stablehlo.multiply %106, %107 : tensor<2xf32>
    %109 = stablehlo.add %arg3, %108 : tensor<2xf32>
    %110 = stablehlo.multiply %53, %53 : tensor<2xf32>
    %111 = stablehlo.constant dense<0.001> : tensor<2xf32>
    %112 = stablehlo.multiply %110, %111 : tensor<2xf32>
    %113 = stablehlo.constant dense<0.999> : tensor<2xf32>
    %114 = stablehlo.multiply %arg5, %113 : tensor<2xf32>
    %115 = stablehlo.add %114, %112 : tensor<2xf32>
    %116 = stablehlo.sqrt %115 : tensor<2xf32>
    %117 = stablehlo.broadcast_in_dim %62, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %118 = stablehlo.multiply %116, %117 : tensor<2xf32>
    %119 = stablehlo.constant dense<1.0e-06> : tensor<2xf32>
    %120 = stablehlo.add %118, %119 : tensor<2xf32>
    %121 = stablehlo.broadcast_in_dim %57, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %122 = stablehlo.divide %109, %121 : tensor<2xf32>
    %123 = stablehlo.divide %122, %120 : tensor<2xf32>
    %124 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %125 = stablehlo.multiply %124, %123 : tensor<2xf32>
    %126 = stablehlo.subtract %arg1, %125 : tensor<2xf32>
    return %105, %126, %66, %109, %72, %115, %50 : tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
