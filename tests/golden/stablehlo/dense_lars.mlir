module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2x3xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<2xui32>, %arg8: tensor<2x3xf32>, %arg9: tensor<2xi32>, %arg10: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: optimizer.momentum.dense.weight
    // %arg3: optimizer.momentum.dense.bias
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
    %54 = stablehlo.multiply %arg0, %arg0 : tensor<2x3xf32>
    %55 = stablehlo.constant dense<0.0> : tensor<f32>
    %56 = stablehlo.reduce(%54 init: %55) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %57 = stablehlo.sqrt %56 : tensor<f32>
    %58 = stablehlo.multiply %51, %51 : tensor<2x3xf32>
    %59 = stablehlo.constant dense<0.0> : tensor<f32>
    %60 = stablehlo.reduce(%58 init: %59) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %61 = stablehlo.sqrt %60 : tensor<f32>
    %62 = stablehlo.constant dense<0.01> : tensor<2x3xf32>
    %63 = stablehlo.multiply %arg0, %62 : tensor<2x3xf32>
    %64 = stablehlo.add %51, %63 : tensor<2x3xf32>
    %65 = stablehlo.constant dense<0.01> : tensor<f32>
    %66 = stablehlo.multiply %57, %65 : tensor<f32>
    %67 = stablehlo.add %61, %66 : tensor<f32>
    %68 = stablehlo.constant dense<1.0e-08> : tensor<f32>
    %69 = stablehlo.add %67, %68 : tensor<f32>
    %70 = stablehlo.constant dense<0.001> : tensor<f32>
    %71 = stablehlo.multiply %57, %70 : tensor<f32>
    %72 = stablehlo.divide %71, %69 : tensor<f32>
    %73 = stablehlo.constant dense<0.0> : tensor<f32>
    %74 = stablehlo.constant dense<1.0> : tensor<f32>
    %75 = stablehlo.compare GT, %61, %73, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %76 = stablehlo.select %75, %72, %74 : tensor<i1>, tensor<f32>
    %77 = stablehlo.compare GT, %57, %73, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %78 = stablehlo.select %77, %76, %74 : tensor<i1>, tensor<f32>
    %79 = stablehlo.broadcast_in_dim %78, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %80 = stablehlo.multiply %64, %79 : tensor<2x3xf32>
    %81 = stablehlo.constant dense<0.9> : tensor<2x3xf32>
    %82 = stablehlo.multiply %arg2, %81 : tensor<2x3xf32>
    %83 = stablehlo.add %82, %80 : tensor<2x3xf32>
    %84 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %85 = stablehlo.multiply %84, %83 : tensor<2x3xf32>
    %86 = stablehlo.subtract %arg0, %85 : tensor<2x3xf32>
    // update: dense.bias
    %87 = stablehlo.constant dense<0.9> : tensor<2xf32>
    %88 = stablehlo.multiply %arg3, %87 : tensor<2xf32>
    %89 = stablehlo.add %88, %53 : tensor<2xf32>
    %90 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %91 = stablehlo.multiply %90, %89 : tensor<2xf32>
    %92 = stablehlo.subtract %arg1, %91 : tensor<2xf32>
    return %86, %92, %83, %89, %50 : tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
