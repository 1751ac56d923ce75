module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<2xui32>, %arg6: tensor<2x3xf32>, %arg7: tensor<2x2xf32>, %arg8: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<6xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: step
    // %arg3: learning_rate
    // %arg4: examples
    // %arg5: seed
    // %arg6: inputs
    // %arg7: targets
    // %arg8: weights
    // forward: dense [2]
    %0 = stablehlo.dot_general %arg6, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x2xf32>
    // loss: huber
    %3 = stablehlo.subtract %2, %arg7 : tensor<2x2xf32>
    %4 = stablehlo.abs %3 : tensor<2x2xf32>
    %5 = stablehlo.sign %3 : tensor<2x2xf32>
    %6 = stablehlo.constant dense<0.5> : tensor<2x2xf32>
    %7 = stablehlo.compare LT, %4, %6, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %8 = stablehlo.multiply %3, %3 : tensor<2x2xf32>
    %9 = stablehlo.constant dense<0.5> : tensor<2x2xf32>
    %10 = stablehlo.multiply %8, %9 : tensor<2x2xf32>
    %11 = stablehlo.constant dense<0.25> : tensor<2x2xf32>
    %12 = stablehlo.subtract %4, %11 : tensor<2x2xf32>
    %13 = stablehlo.constant dense<0.5> : tensor<2x2xf32>
    %14 = stablehlo.multiply %12, %13 : tensor<2x2xf32>
    %15 = stablehlo.select %7, %10, %14 : tensor<2x2xi1>, tensor<2x2xf32>
    %16 = stablehlo.constant dense<0.0> : tensor<f32>
    %17 = stablehlo.reduce(%15 init: %16) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %18 = stablehlo.constant dense<2.0> : tensor<2xf32>
    %19 = stablehlo.divide %17, %18 : tensor<2xf32>
    %20 = stablehlo.constant dense<0.5> : tensor<2x2xf32>
    %21 = stablehlo.multiply %5, %20 : tensor<2x2xf32>
    %22 = stablehlo.select %7, %3, %21 : tensor<2x2xi1>, tensor<2x2xf32>
    %23 = stablehlo.constant dense<2.0> : tensor<2x2xf32>
    %24 = stablehlo.divide %22, %23 : tensor<2x2xf32>
    %25 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %26 = stablehlo.compare GT, %arg8, %25, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %27 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %28 = stablehlo.subtract %2, %arg7 : tensor<2x2xf32>
    %29 = stablehlo.multiply %28, %28 : tensor<2x2xf32>
    %30 = stablehlo.abs %28 : tensor<2x2xf32>
    %31 = stablehlo.select %26, %19, %27 : tensor<2xi1>, tensor<2xf32>
    %32 = stablehlo.reshape %31 : (tensor<2xf32>) -> tensor<1x2xf32>
    %33 = stablehlo.select %26, %arg8, %27 : tensor<2xi1>, tensor<2xf32>
    %34 = stablehlo.reshape %33 : (tensor<2xf32>) -> tensor<1x2xf32>
    %35 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %36 = stablehlo.broadcast_in_dim %26, dims = [0] : (tensor<2xi1>) -> tensor<2x2xi1>
    %37 = stablehlo.select %36, %29, %35 : tensor<2x2xi1>, tensor<2x2xf32>
    %38 = stablehlo.transpose %37, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %39 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %40 = stablehlo.broadcast_in_dim %26, dims = [0] : (tensor<2xi1>) -> tensor<2x2xi1>
    %41 = stablehlo.select %40, %30, %39 : tensor<2x2xi1>, tensor<2x2xf32>
    %42 = stablehlo.transpose %41, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %43 = stablehlo.concatenate %32, %34, %38, %42, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
    %44 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %45 = stablehlo.divide %arg8, %44 : tensor<2xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %47 = stablehlo.multiply %24, %46 : tensor<2x2xf32>
    %48 = stablehlo.constant dense<0.0> : tensor<f32>
    %49 = stablehlo.reduce(%43 init: %48) applies stablehlo.add across dimensions = [1] : (tensor<6x2xf32>, tensor<f32>) -> tensor<6xf32>
    // backward: dense
    %50 = stablehlo.dot_general %47, %arg6, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %51 = stablehlo.constant dense<0.0> : tensor<f32>
    %52 = stablehlo.reduce(%47 init: %51) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    // update: dense.weight
    %53 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %54 = stablehlo.multiply %53, %50 : tensor<2x3xf32>
    %55 = stablehlo.subtract %arg0, %54 : tensor<2x3xf32>
    // update: dense.bias
    %56 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %57 = stablehlo.multiply %56, %52 : tensor<2xf32>
    %58 = stablehlo.subtract %arg1, %57 : tensor<2xf32>
    return %55, %58, %49 : tensor<2x3xf32>, tensor<2xf32>, tensor<6xf32>
  }
}
