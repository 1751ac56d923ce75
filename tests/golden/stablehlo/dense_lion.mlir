module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2x3xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<2xui32>, %arg8: tensor<2x3xf32>, %arg9: tensor<2xi32>, %arg10: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: optimizer.average.dense.weight
    // %arg3: optimizer.average.dense.bias
    // %arg4: step
    // %arg5: learning_rate
    // %arg6: examples
    // %arg7: seed
    // %arg8: inputs
    // %arg9: targets
    // %arg10: weights
    // forward: dense [2]
    %0 = stablehlo.dot_general %arg8, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
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
    %17 = stablehlo.broadcast_in_dim %arg9, dims = [0] : (tensor<2xi32>) -> tensor<2x2xi32>
    %18 = stablehlo.compare EQ, %15, %17, SIGNED : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
    %19 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %20 = stablehlo.select %18, %12, %19 : tensor<2x2xi1>, tensor<2x2xf32>
    %21 = stablehlo.constant dense<0.0> : tensor<f32>
    %22 = stablehlo.reduce(%20 init: %21) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %23 = stablehlo.negate %22 : tensor<2xf32>
    %24 = stablehlo.convert %18 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %25 = stablehlo.subtract %14, %24 : tensor<2x2xf32>
    %26 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %27 = stablehlo.compare GT, %arg10, %26, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %28 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %29 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %30 = stablehlo.compare EQ, %2, %16, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %31 = stablehlo.or %30, %29 : tensor<2x2xi1>
    %32 = stablehlo.constant dense<2> : tensor<2x2xi32>
    %33 = stablehlo.select %31, %15, %32 : tensor<2x2xi1>, tensor<2x2xi32>
    %34 = stablehlo.constant dense<2147483647> : tensor<i32>
    %35 = stablehlo.reduce(%33 init: %34) applies stablehlo.minimum across dimensions = [1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %36 = stablehlo.compare EQ, %35, %arg9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %37 = stablehlo.convert %36 : (tensor<2xi1>) -> tensor<2xf32>
    %38 = stablehlo.select %27, %23, %28 : tensor<2xi1>, tensor<2xf32>
    %39 = stablehlo.constant dense<0.0> : tensor<f32>
    %40 = stablehlo.reduce(%38 init: %39) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %41 = stablehlo.reshape %40 : (tensor<f32>) -> tensor<1xf32>
    %42 = stablehlo.select %27, %arg10, %28 : tensor<2xi1>, tensor<2xf32>
    %43 = stablehlo.constant dense<0.0> : tensor<f32>
    %44 = stablehlo.reduce(%42 init: %43) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %45 = stablehlo.reshape %44 : (tensor<f32>) -> tensor<1xf32>
    %46 = stablehlo.select %27, %37, %28 : tensor<2xi1>, tensor<2xf32>
    %47 = stablehlo.constant dense<0.0> : tensor<f32>
    %48 = stablehlo.reduce(%46 init: %47) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %49 = stablehlo.reshape %48 : (tensor<f32>) -> tensor<1xf32>
    %50 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %51 = stablehlo.divide %arg10, %50 : tensor<2xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %53 = stablehlo.multiply %25, %52 : tensor<2x2xf32>
    %54 = stablehlo.concatenate %41, %45, %49, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
    // backward: dense
    %55 = stablehlo.dot_general %53, %arg8, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %56 = stablehlo.constant dense<0.0> : tensor<f32>
    %57 = stablehlo.reduce(%53 init: %56) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    // update: dense.weight
    %58 = stablehlo.constant dense<0.1> : tensor<2x3xf32>
    %59 = stablehlo.multiply %55, %58 : tensor<2x3xf32>
    %60 = stablehlo.constant dense<0.9> : tensor<2x3xf32>
    %61 = stablehlo.multiply %arg2, %60 : tensor<2x3xf32>
    %62 = stablehlo.add %61, %59 : tensor<2x3xf32>
    %63 = stablehlo.sign %62 : tensor<2x3xf32>
    %64 = stablehlo.constant dense<0.01> : tensor<2x3xf32>
    %65 = stablehlo.multiply %arg0, %64 : tensor<2x3xf32>
    %66 = stablehlo.add %63, %65 : tensor<2x3xf32>
    %67 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %68 = stablehlo.multiply %67, %66 : tensor<2x3xf32>
    %69 = stablehlo.subtract %arg0, %68 : tensor<2x3xf32>
    %70 = stablehlo.constant dense<0.01> : tensor<2x3xf32>
    %71 = stablehlo.multiply %55, %70 : tensor<2x3xf32>
    %72 = stablehlo.constant dense<0.99> : tensor<2x3xf32>
    %73 = stablehlo.multiply %arg2, %72 : tensor<2x3xf32>
    %74 = stablehlo.add %73, %71 : tensor<2x3xf32>
    // update: dense.bias
    %75 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %76 = stablehlo.multiply %57, %75 : tensor<2xf32>
    %77 = stablehlo.constant dense<0.9> : tensor<2xf32>
    %78 = stablehlo.multiply %arg3, %77 : tensor<2xf32>
    %79 = stablehlo.add %78, %76 : tensor<2xf32>
    %80 = stablehlo.sign %79 : tensor<2xf32>
    %81 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %82 = stablehlo.multiply %81, %80 : tensor<2xf32>
    %83 = stablehlo.subtract %arg1, %82 : tensor<2xf32>
    %84 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %85 = stablehlo.multiply %57, %84 : tensor<2xf32>
    %86 = stablehlo.constant dense<0.99> : tensor<2xf32>
    %87 = stablehlo.multiply %arg3, %86 : tensor<2xf32>
    %88 = stablehlo.add %87, %85 : tensor<2xf32>
    return %69, %83, %74, %88, %54 : tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
