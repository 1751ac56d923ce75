module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<3xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<2xui32>, %arg6: tensor<100x1x2x2xui8>, %arg7: tensor<100xi32>, %arg8: tensor<4xi32>, %arg9: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: step
    // %arg3: learning_rate
    // %arg4: examples
    // %arg5: seed
    // %arg6: stored_inputs
    // %arg7: stored_targets
    // %arg8: rows
    // %arg9: weights
    // the batch, of the examples that stay here
    %0 = "stablehlo.gather"(%arg6, %arg8) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 2, 2>, indices_are_sorted = false} : (tensor<100x1x2x2xui8>, tensor<4xi32>) -> tensor<4x1x2x2xui8>
    %1 = "stablehlo.gather"(%arg7, %arg8) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false} : (tensor<100xi32>, tensor<4xi32>) -> tensor<4xi32>
    %2 = stablehlo.convert %0 : (tensor<4x1x2x2xui8>) -> tensor<4x1x2x2xf32>
    %3 = stablehlo.constant dense<255.0> : tensor<4x1x2x2xf32>
    %4 = stablehlo.divide %2, %3 : tensor<4x1x2x2xf32>
    %5 = stablehlo.constant dense<0.0> : tensor<4x1x2x2xf32>
    %6 = stablehlo.subtract %4, %5 : tensor<4x1x2x2xf32>
    %7 = stablehlo.constant dense<1.0> : tensor<4x1x2x2xf32>
    %8 = stablehlo.divide %6, %7 : tensor<4x1x2x2xf32>
    // forward: flatten [4]
    %9 = stablehlo.reshape %8 : (tensor<4x1x2x2xf32>) -> tensor<4x4xf32>
    // forward: dense [3]
    %10 = stablehlo.dot_general %9, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<4x3xf32>
    %11 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %12 = stablehlo.add %10, %11 : tensor<4x3xf32>
    // loss: cross_entropy
    %13 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %16 = stablehlo.subtract %12, %15 : tensor<4x3xf32>
    %17 = stablehlo.exponential %16 : tensor<4x3xf32>
    %18 = stablehlo.constant dense<0.0> : tensor<f32>
    %19 = stablehlo.reduce(%17 init: %18) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %20 = stablehlo.log %19 : tensor<4xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %22 = stablehlo.subtract %16, %21 : tensor<4x3xf32>
    %23 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %24 = stablehlo.divide %17, %23 : tensor<4x3xf32>
    %25 = stablehlo.iota dim = 1 : tensor<4x3xi32>
    %26 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %27 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xi32>) -> tensor<4x3xi32>
    %28 = stablehlo.compare EQ, %25, %27, SIGNED : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
    %29 = stablehlo.constant dense<0.0> : tensor<4x3xf32>
    %30 = stablehlo.select %28, %22, %29 : tensor<4x3xi1>, tensor<4x3xf32>
    %31 = stablehlo.constant dense<0.0> : tensor<f32>
    %32 = stablehlo.reduce(%30 init: %31) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %33 = stablehlo.negate %32 : tensor<4xf32>
    %34 = stablehlo.convert %28 : (tensor<4x3xi1>) -> tensor<4x3xf32>
    %35 = stablehlo.subtract %24, %34 : tensor<4x3xf32>
    %36 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %37 = stablehlo.compare GT, %arg9, %36, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %38 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %39 = stablehlo.compare NE, %12, %12, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %40 = stablehlo.compare EQ, %12, %26, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %41 = stablehlo.or %40, %39 : tensor<4x3xi1>
    %42 = stablehlo.constant dense<3> : tensor<4x3xi32>
    %43 = stablehlo.select %41, %25, %42 : tensor<4x3xi1>, tensor<4x3xi32>
    %44 = stablehlo.constant dense<2147483647> : tensor<i32>
    %45 = stablehlo.reduce(%43 init: %44) applies stablehlo.minimum across dimensions = [1] : (tensor<4x3xi32>, tensor<i32>) -> tensor<4xi32>
    %46 = stablehlo.compare EQ, %45, %1, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %47 = stablehlo.convert %46 : (tensor<4xi1>) -> tensor<4xf32>
    %48 = stablehlo.select %37, %33, %38 : tensor<4xi1>, tensor<4xf32>
    %49 = stablehlo.reshape %48 : (tensor<4xf32>) -> tensor<1x4xf32>
    %50 = stablehlo.select %37, %arg9, %38 : tensor<4xi1>, tensor<4xf32>
    %51 = stablehlo.reshape %50 : (tensor<4xf32>) -> tensor<1x4xf32>
    %52 = stablehlo.select %37, %47, %38 : tensor<4xi1>, tensor<4xf32>
    %53 = stablehlo.reshape %52 : (tensor<4xf32>) -> tensor<1x4xf32>
    %54 = stablehlo.concatenate %49, %51, %53, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
    %55 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %56 = stablehlo.divide %arg9, %55 : tensor<4xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %58 = stablehlo.multiply %35, %57 : tensor<4x3xf32>
    %59 = stablehlo.constant dense<0.0> : tensor<f32>
    %60 = stablehlo.reduce(%54 init: %59) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %61 = stablehlo.dot_general %58, %9, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %62 = stablehlo.constant dense<0.0> : tensor<f32>
    %63 = stablehlo.reduce(%58 init: %62) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
    // update: dense.weight
    %64 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %65 = stablehlo.multiply %64, %61 : tensor<3x4xf32>
    %66 = stablehlo.subtract %arg0, %65 : tensor<3x4xf32>
    // update: dense.bias
    %67 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %68 = stablehlo.multiply %67, %63 : tensor<3xf32>
    %69 = stablehlo.subtract %arg1, %68 : tensor<3xf32>
    return %66, %69, %60 : tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
