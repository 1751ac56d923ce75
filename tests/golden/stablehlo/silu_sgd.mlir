module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<3x2xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<3xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<2xui32>, %arg8: tensor<2x3xf32>, %arg9: tensor<2xi32>, %arg10: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: dense_1.weight
    // %arg3: dense_1.bias
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
    // forward: silu [2]
    %3 = stablehlo.logistic %2 : tensor<2x2xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x2xf32>
    // forward: dense [3]
    %5 = stablehlo.dot_general %4, %arg2, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
    %6 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %7 = stablehlo.add %5, %6 : tensor<2x3xf32>
    // loss: cross_entropy
    %8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %11 = stablehlo.subtract %7, %10 : tensor<2x3xf32>
    %12 = stablehlo.exponential %11 : tensor<2x3xf32>
    %13 = stablehlo.constant dense<0.0> : tensor<f32>
    %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %15 = stablehlo.log %14 : tensor<2xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %17 = stablehlo.subtract %11, %16 : tensor<2x3xf32>
    %18 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %19 = stablehlo.divide %12, %18 : tensor<2x3xf32>
    %20 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %21 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %22 = stablehlo.broadcast_in_dim %arg9, dims = [0] : (tensor<2xi32>) -> tensor<2x3xi32>
    %23 = stablehlo.compare EQ, %20, %22, SIGNED : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %24 = stablehlo.constant dense<0.0> : tensor<2x3xf32>
    %25 = stablehlo.select %23, %17, %24 : tensor<2x3xi1>, tensor<2x3xf32>
    %26 = stablehlo.constant dense<0.0> : tensor<f32>
    %27 = stablehlo.reduce(%25 init: %26) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %28 = stablehlo.negate %27 : tensor<2xf32>
    %29 = stablehlo.convert %23 : (tensor<2x3xi1>) -> tensor<2x3xf32>
    %30 = stablehlo.subtract %19, %29 : tensor<2x3xf32>
    %31 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %32 = stablehlo.compare GT, %arg10, %31, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %33 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %34 = stablehlo.compare NE, %7, %7, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %35 = stablehlo.compare EQ, %7, %21, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %36 = stablehlo.or %35, %34 : tensor<2x3xi1>
    %37 = stablehlo.constant dense<3> : tensor<2x3xi32>
    %38 = stablehlo.select %36, %20, %37 : tensor<2x3xi1>, tensor<2x3xi32>
    %39 = stablehlo.constant dense<2147483647> : tensor<i32>
    %40 = stablehlo.reduce(%38 init: %39) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    %41 = stablehlo.compare EQ, %40, %arg9, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %42 = stablehlo.convert %41 : (tensor<2xi1>) -> tensor<2xf32>
    %43 = stablehlo.select %32, %28, %33 : tensor<2xi1>, tensor<2xf32>
    %44 = stablehlo.reshape %43 : (tensor<2xf32>) -> tensor<1x2xf32>
    %45 = stablehlo.select %32, %arg10, %33 : tensor<2xi1>, tensor<2xf32>
    %46 = stablehlo.reshape %45 : (tensor<2xf32>) -> tensor<1x2xf32>
    %47 = stablehlo.select %32, %42, %33 : tensor<2xi1>, tensor<2xf32>
    %48 = stablehlo.reshape %47 : (tensor<2xf32>) -> tensor<1x2xf32>
    %49 = stablehlo.concatenate %44, %46, %48, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %50 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %51 = stablehlo.divide %arg10, %50 : tensor<2xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %53 = stablehlo.multiply %30, %52 : tensor<2x3xf32>
    %54 = stablehlo.constant dense<0.0> : tensor<f32>
    %55 = stablehlo.reduce(%49 init: %54) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %56 = stablehlo.dot_general %53, %4, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
    %57 = stablehlo.constant dense<0.0> : tensor<f32>
    %58 = stablehlo.reduce(%53 init: %57) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    %59 = stablehlo.dot_general %53, %arg2, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    // backward: silu
    %60 = stablehlo.constant dense<1.0> : tensor<2x2xf32>
    %61 = stablehlo.subtract %60, %3 : tensor<2x2xf32>
    %62 = stablehlo.multiply %2, %61 : tensor<2x2xf32>
    %63 = stablehlo.constant dense<1.0> : tensor<2x2xf32>
    %64 = stablehlo.add %62, %63 : tensor<2x2xf32>
    %65 = stablehlo.multiply %3, %64 : tensor<2x2xf32>
    %66 = stablehlo.multiply %59, %65 : tensor<2x2xf32>
    // backward: dense
    %67 = stablehlo.dot_general %66, %arg8, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %68 = stablehlo.constant dense<0.0> : tensor<f32>
    %69 = stablehlo.reduce(%66 init: %68) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    // update: dense.weight
    %70 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %71 = stablehlo.multiply %70, %67 : tensor<2x3xf32>
    %72 = stablehlo.subtract %arg0, %71 : tensor<2x3xf32>
    // update: dense.bias
    %73 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %74 = stablehlo.multiply %73, %69 : tensor<2xf32>
    %75 = stablehlo.subtract %arg1, %74 : tensor<2xf32>
    // update: dense_1.weight
    %76 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %77 = stablehlo.multiply %76, %56 : tensor<3x2xf32>
    %78 = stablehlo.subtract %arg2, %77 : tensor<3x2xf32>
    // update: dense_1.bias
    %79 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %80 = stablehlo.multiply %79, %58 : tensor<3xf32>
    %81 = stablehlo.subtract %arg3, %80 : tensor<3xf32>
    return %72, %75, %78, %81, %55 : tensor<2x3xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
