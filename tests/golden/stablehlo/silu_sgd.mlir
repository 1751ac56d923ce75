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
    %44 = stablehlo.constant dense<0.0> : tensor<f32>
    %45 = stablehlo.reduce(%43 init: %44) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %46 = stablehlo.reshape %45 : (tensor<f32>) -> tensor<1xf32>
    %47 = stablehlo.select %32, %arg10, %33 : tensor<2xi1>, tensor<2xf32>
    %48 = stablehlo.constant dense<0.0> : tensor<f32>
    %49 = stablehlo.reduce(%47 init: %48) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %50 = stablehlo.reshape %49 : (tensor<f32>) -> tensor<1xf32>
    %51 = stablehlo.select %32, %42, %33 : tensor<2xi1>, tensor<2xf32>
    %52 = stablehlo.constant dense<0.0> : tensor<f32>
    %53 = stablehlo.reduce(%51 init: %52) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %54 = stablehlo.reshape %53 : (tensor<f32>) -> tensor<1xf32>
    %55 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %56 = stablehlo.divide %arg10, %55 : tensor<2xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %58 = stablehlo.multiply %30, %57 : tensor<2x3xf32>
    %59 = stablehlo.concatenate %46, %50, %54, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
    // backward: dense
    %60 = stablehlo.dot_general %58, %4, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<3x2xf32>
    %61 = stablehlo.constant dense<0.0> : tensor<f32>
    %62 = stablehlo.reduce(%58 init: %61) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    %63 = stablehlo.dot_general %58, %arg2, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    // backward: silu
    %64 = stablehlo.constant dense<1.0> : tensor<2x2xf32>
    %65 = stablehlo.subtract %64, %3 : tensor<2x2xf32>
    %66 = stablehlo.multiply %2, %65 : tensor<2x2xf32>
    %67 = stablehlo.constant dense<1.0> : tensor<2x2xf32>
    %68 = stablehlo.add %66, %67 : tensor<2x2xf32>
    %69 = stablehlo.multiply %3, %68 : tensor<2x2xf32>
    %70 = stablehlo.multiply %63, %69 : tensor<2x2xf32>
    // backward: dense
    %71 = stablehlo.dot_general %70, %arg8, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %72 = stablehlo.constant dense<0.0> : tensor<f32>
    %73 = stablehlo.reduce(%70 init: %72) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    // update: dense.weight
    %74 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %75 = stablehlo.multiply %74, %71 : tensor<2x3xf32>
    %76 = stablehlo.subtract %arg0, %75 : tensor<2x3xf32>
    // update: dense.bias
    %77 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %78 = stablehlo.multiply %77, %73 : tensor<2xf32>
    %79 = stablehlo.subtract %arg1, %78 : tensor<2xf32>
    // update: dense_1.weight
    %80 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %81 = stablehlo.multiply %80, %60 : tensor<3x2xf32>
    %82 = stablehlo.subtract %arg2, %81 : tensor<3x2xf32>
    // update: dense_1.bias
    %83 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %84 = stablehlo.multiply %83, %62 : tensor<3xf32>
    %85 = stablehlo.subtract %arg3, %84 : tensor<3xf32>
    return %76, %79, %82, %85, %59 : tensor<2x3xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
