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
    // loss: log_cosh
    %3 = stablehlo.subtract %2, %arg7 : tensor<2x2xf32>
    %4 = stablehlo.abs %3 : tensor<2x2xf32>
    %5 = stablehlo.sign %3 : tensor<2x2xf32>
    %6 = stablehlo.constant dense<-2.0> : tensor<2x2xf32>
    %7 = stablehlo.multiply %4, %6 : tensor<2x2xf32>
    %8 = stablehlo.exponential %7 : tensor<2x2xf32>
    %9 = stablehlo.log_plus_one %8 : tensor<2x2xf32>
    %10 = stablehlo.add %4, %9 : tensor<2x2xf32>
    %11 = stablehlo.constant dense<0.6931472> : tensor<2x2xf32>
    %12 = stablehlo.subtract %10, %11 : tensor<2x2xf32>
    %13 = stablehlo.constant dense<0.0> : tensor<f32>
    %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %15 = stablehlo.constant dense<2.0> : tensor<2xf32>
    %16 = stablehlo.divide %14, %15 : tensor<2xf32>
    %17 = stablehlo.tanh %3 : tensor<2x2xf32>
    %18 = stablehlo.constant dense<2.0> : tensor<2x2xf32>
    %19 = stablehlo.divide %17, %18 : tensor<2x2xf32>
    %20 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %21 = stablehlo.compare GT, %arg8, %20, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %22 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %23 = stablehlo.subtract %2, %arg7 : tensor<2x2xf32>
    %24 = stablehlo.multiply %23, %23 : tensor<2x2xf32>
    %25 = stablehlo.abs %23 : tensor<2x2xf32>
    %26 = stablehlo.select %21, %16, %22 : tensor<2xi1>, tensor<2xf32>
    %27 = stablehlo.reshape %26 : (tensor<2xf32>) -> tensor<1x2xf32>
    %28 = stablehlo.select %21, %arg8, %22 : tensor<2xi1>, tensor<2xf32>
    %29 = stablehlo.reshape %28 : (tensor<2xf32>) -> tensor<1x2xf32>
    %30 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %31 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<2xi1>) -> tensor<2x2xi1>
    %32 = stablehlo.select %31, %24, %30 : tensor<2x2xi1>, tensor<2x2xf32>
    %33 = stablehlo.transpose %32, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %34 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %35 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<2xi1>) -> tensor<2x2xi1>
    %36 = stablehlo.select %35, %25, %34 : tensor<2x2xi1>, tensor<2x2xf32>
    %37 = stablehlo.transpose %36, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %38 = stablehlo.concatenate %27, %29, %33, %37, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
    %39 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %40 = stablehlo.divide %arg8, %39 : tensor<2xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %42 = stablehlo.multiply %19, %41 : tensor<2x2xf32>
    %43 = stablehlo.constant dense<0.0> : tensor<f32>
    %44 = stablehlo.reduce(%38 init: %43) applies stablehlo.add across dimensions = [1] : (tensor<6x2xf32>, tensor<f32>) -> tensor<6xf32>
    // backward: dense
    %45 = stablehlo.dot_general %42, %arg6, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %46 = stablehlo.constant dense<0.0> : tensor<f32>
    %47 = stablehlo.reduce(%42 init: %46) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    // update: dense.weight
    %48 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %49 = stablehlo.multiply %48, %45 : tensor<2x3xf32>
    %50 = stablehlo.subtract %arg0, %49 : tensor<2x3xf32>
    // update: dense.bias
    %51 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %52 = stablehlo.multiply %51, %47 : tensor<2xf32>
    %53 = stablehlo.subtract %arg1, %52 : tensor<2xf32>
    return %50, %53, %44 : tensor<2x3xf32>, tensor<2xf32>, tensor<6xf32>
  }
}
