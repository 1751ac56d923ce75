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
    %30 = stablehlo.constant dense<0.0> : tensor<f32>
    %31 = stablehlo.reduce(%29 init: %30) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %32 = stablehlo.constant dense<2.0> : tensor<2xf32>
    %33 = stablehlo.divide %31, %32 : tensor<2xf32>
    %34 = stablehlo.abs %28 : tensor<2x2xf32>
    %35 = stablehlo.constant dense<0.0> : tensor<f32>
    %36 = stablehlo.reduce(%34 init: %35) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %37 = stablehlo.constant dense<2.0> : tensor<2xf32>
    %38 = stablehlo.divide %36, %37 : tensor<2xf32>
    %39 = stablehlo.constant dense<0.0> : tensor<f32>
    %40 = stablehlo.reduce(%arg7 init: %39) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %41 = stablehlo.constant dense<2.0> : tensor<2xf32>
    %42 = stablehlo.divide %40, %41 : tensor<2xf32>
    %43 = stablehlo.multiply %arg7, %arg7 : tensor<2x2xf32>
    %44 = stablehlo.constant dense<0.0> : tensor<f32>
    %45 = stablehlo.reduce(%43 init: %44) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %46 = stablehlo.constant dense<2.0> : tensor<2xf32>
    %47 = stablehlo.divide %45, %46 : tensor<2xf32>
    %48 = stablehlo.select %26, %19, %27 : tensor<2xi1>, tensor<2xf32>
    %49 = stablehlo.constant dense<0.0> : tensor<f32>
    %50 = stablehlo.reduce(%48 init: %49) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %51 = stablehlo.reshape %50 : (tensor<f32>) -> tensor<1xf32>
    %52 = stablehlo.select %26, %arg8, %27 : tensor<2xi1>, tensor<2xf32>
    %53 = stablehlo.constant dense<0.0> : tensor<f32>
    %54 = stablehlo.reduce(%52 init: %53) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %55 = stablehlo.reshape %54 : (tensor<f32>) -> tensor<1xf32>
    %56 = stablehlo.select %26, %33, %27 : tensor<2xi1>, tensor<2xf32>
    %57 = stablehlo.constant dense<0.0> : tensor<f32>
    %58 = stablehlo.reduce(%56 init: %57) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %59 = stablehlo.reshape %58 : (tensor<f32>) -> tensor<1xf32>
    %60 = stablehlo.select %26, %38, %27 : tensor<2xi1>, tensor<2xf32>
    %61 = stablehlo.constant dense<0.0> : tensor<f32>
    %62 = stablehlo.reduce(%60 init: %61) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %63 = stablehlo.reshape %62 : (tensor<f32>) -> tensor<1xf32>
    %64 = stablehlo.select %26, %42, %27 : tensor<2xi1>, tensor<2xf32>
    %65 = stablehlo.constant dense<0.0> : tensor<f32>
    %66 = stablehlo.reduce(%64 init: %65) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %67 = stablehlo.reshape %66 : (tensor<f32>) -> tensor<1xf32>
    %68 = stablehlo.select %26, %47, %27 : tensor<2xi1>, tensor<2xf32>
    %69 = stablehlo.constant dense<0.0> : tensor<f32>
    %70 = stablehlo.reduce(%68 init: %69) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %71 = stablehlo.reshape %70 : (tensor<f32>) -> tensor<1xf32>
    %72 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %73 = stablehlo.divide %arg8, %72 : tensor<2xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %75 = stablehlo.multiply %24, %74 : tensor<2x2xf32>
    %76 = stablehlo.concatenate %51, %55, %59, %63, %67, %71, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<6xf32>
    // backward: dense
    %77 = stablehlo.dot_general %75, %arg6, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %78 = stablehlo.constant dense<0.0> : tensor<f32>
    %79 = stablehlo.reduce(%75 init: %78) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    // update: dense.weight
    %80 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %81 = stablehlo.multiply %80, %77 : tensor<2x3xf32>
    %82 = stablehlo.subtract %arg0, %81 : tensor<2x3xf32>
    // update: dense.bias
    %83 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %84 = stablehlo.multiply %83, %79 : tensor<2xf32>
    %85 = stablehlo.subtract %arg1, %84 : tensor<2xf32>
    return %82, %85, %76 : tensor<2x3xf32>, tensor<2xf32>, tensor<6xf32>
  }
}
