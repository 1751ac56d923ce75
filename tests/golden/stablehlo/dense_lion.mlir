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
    %39 = stablehlo.reshape %38 : (tensor<2xf32>) -> tensor<1x2xf32>
    %40 = stablehlo.select %27, %arg10, %28 : tensor<2xi1>, tensor<2xf32>
    %41 = stablehlo.reshape %40 : (tensor<2xf32>) -> tensor<1x2xf32>
    %42 = stablehlo.select %27, %37, %28 : tensor<2xi1>, tensor<2xf32>
    %43 = stablehlo.reshape %42 : (tensor<2xf32>) -> tensor<1x2xf32>
    %44 = stablehlo.concatenate %39, %41, %43, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %45 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %46 = stablehlo.divide %arg10, %45 : tensor<2xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %48 = stablehlo.multiply %25, %47 : tensor<2x2xf32>
    %49 = stablehlo.constant dense<0.0> : tensor<f32>
    %50 = stablehlo.reduce(%44 init: %49) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %51 = stablehlo.dot_general %48, %arg8, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %52 = stablehlo.constant dense<0.0> : tensor<f32>
    %53 = stablehlo.reduce(%48 init: %52) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    // update: dense.weight
    %54 = stablehlo.constant dense<0.1> : tensor<2x3xf32>
    %55 = stablehlo.multiply %51, %54 : tensor<2x3xf32>
    %56 = stablehlo.constant dense<0.9> : tensor<2x3xf32>
    %57 = stablehlo.multiply %arg2, %56 : tensor<2x3xf32>
    %58 = stablehlo.add %57, %55 : tensor<2x3xf32>
    %59 = stablehlo.sign %58 : tensor<2x3xf32>
    %60 = stablehlo.constant dense<0.01> : tensor<2x3xf32>
    %61 = stablehlo.multiply %arg0, %60 : tensor<2x3xf32>
    %62 = stablehlo.add %59, %61 : tensor<2x3xf32>
    %63 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %64 = stablehlo.multiply %63, %62 : tensor<2x3xf32>
    %65 = stablehlo.subtract %arg0, %64 : tensor<2x3xf32>
    %66 = stablehlo.constant dense<0.01> : tensor<2x3xf32>
    %67 = stablehlo.multiply %51, %66 : tensor<2x3xf32>
    %68 = stablehlo.constant dense<0.99> : tensor<2x3xf32>
    %69 = stablehlo.multiply %arg2, %68 : tensor<2x3xf32>
    %70 = stablehlo.add %69, %67 : tensor<2x3xf32>
    // update: dense.bias
    %71 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %72 = stablehlo.multiply %53, %71 : tensor<2xf32>
    %73 = stablehlo.constant dense<0.9> : tensor<2xf32>
    %74 = stablehlo.multiply %arg3, %73 : tensor<2xf32>
    %75 = stablehlo.add %74, %72 : tensor<2xf32>
    %76 = stablehlo.sign %75 : tensor<2xf32>
    %77 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %78 = stablehlo.multiply %77, %76 : tensor<2xf32>
    %79 = stablehlo.subtract %arg1, %78 : tensor<2xf32>
    %80 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %81 = stablehlo.multiply %53, %80 : tensor<2xf32>
    %82 = stablehlo.constant dense<0.99> : tensor<2xf32>
    %83 = stablehlo.multiply %arg3, %82 : tensor<2xf32>
    %84 = stablehlo.add %83, %81 : tensor<2xf32>
    return %65, %79, %70, %84, %50 : tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
