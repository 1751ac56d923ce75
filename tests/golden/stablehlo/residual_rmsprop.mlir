module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%arg0: tensor<2x1x1x1xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<3x18xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<3xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<2xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<2xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<2x1x1x1xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<2xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<2xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<2xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<3x18xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<3xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<2x1x1x1xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<2xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<2xf32> {tf.aliasing_output = 16 : i32}, %arg17: tensor<2xf32> {tf.aliasing_output = 17 : i32}, %arg18: tensor<3x18xf32> {tf.aliasing_output = 18 : i32}, %arg19: tensor<3xf32> {tf.aliasing_output = 19 : i32}, %arg20: tensor<2x1x1x1xf32> {tf.aliasing_output = 20 : i32}, %arg21: tensor<2xf32> {tf.aliasing_output = 21 : i32}, %arg22: tensor<2xf32> {tf.aliasing_output = 22 : i32}, %arg23: tensor<2xf32> {tf.aliasing_output = 23 : i32}, %arg24: tensor<3x18xf32> {tf.aliasing_output = 24 : i32}, %arg25: tensor<3xf32> {tf.aliasing_output = 25 : i32}, %arg26: tensor<f32>, %arg27: tensor<f32>, %arg28: tensor<f32>, %arg29: tensor<2xui32>, %arg30: tensor<2x1x3x3xf32>, %arg31: tensor<2xi32>, %arg32: tensor<2xf32>, %arg33: tensor<2xi32>, %arg34: tensor<2xf32>) -> (tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<3xf32>) {
    // %arg0: first.weight
    // %arg1: first.bias
    // %arg2: batch_norm.weight
    // %arg3: batch_norm.bias
    // %arg4: dense.weight
    // %arg5: dense.bias
    // %arg6: batch_norm.running_mean
    // %arg7: batch_norm.running_var
    // %arg8: optimizer.square_average.first.weight
    // %arg9: optimizer.square_average.first.bias
    // %arg10: optimizer.square_average.batch_norm.weight
    // %arg11: optimizer.square_average.batch_norm.bias
    // %arg12: optimizer.square_average.dense.weight
    // %arg13: optimizer.square_average.dense.bias
    // %arg14: optimizer.momentum.first.weight
    // %arg15: optimizer.momentum.first.bias
    // %arg16: optimizer.momentum.batch_norm.weight
    // %arg17: optimizer.momentum.batch_norm.bias
    // %arg18: optimizer.momentum.dense.weight
    // %arg19: optimizer.momentum.dense.bias
    // %arg20: optimizer.weights.first.weight
    // %arg21: optimizer.weights.first.bias
    // %arg22: optimizer.weights.batch_norm.weight
    // %arg23: optimizer.weights.batch_norm.bias
    // %arg24: optimizer.weights.dense.weight
    // %arg25: optimizer.weights.dense.bias
    // %arg26: step
    // %arg27: learning_rate
    // %arg28: examples
    // %arg29: seed
    // %arg30: inputs
    // %arg31: targets
    // %arg32: weights
    // %arg33: other_targets
    // %arg34: shares
    // forward: conv2d [2, 3, 3]
    %0 = stablehlo.convolution(%arg30, %arg0) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x1x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<2x2x3x3xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x2x3x3xf32>
    // forward: batch_norm [2, 3, 3]
    %3 = stablehlo.broadcast_in_dim %arg32, dims = [0] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %4 = stablehlo.constant dense<0.0> : tensor<f32>
    %5 = stablehlo.reduce(%arg32 init: %4) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %6 = stablehlo.constant dense<9.0> : tensor<f32>
    %7 = stablehlo.multiply %5, %6 : tensor<f32>
    %8 = stablehlo.multiply %2, %3 : tensor<2x2x3x3xf32>
    %9 = stablehlo.constant dense<0.0> : tensor<f32>
    %10 = stablehlo.reduce(%8 init: %9) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2xf32>
    %14:2 = "stablehlo.all_reduce"(%7, %10) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%11: tensor<f32>, %12: tensor<f32>):
        %13 = stablehlo.add %11, %12 : tensor<f32>
        stablehlo.return %13 : tensor<f32>
    }) : (tensor<f32>, tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
    %15 = stablehlo.constant dense<1.0> : tensor<f32>
    %16 = stablehlo.maximum %14#0, %15 : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %18 = stablehlo.divide %14#1, %17 : tensor<2xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %20 = stablehlo.subtract %2, %19 : tensor<2x2x3x3xf32>
    %21 = stablehlo.multiply %20, %20 : tensor<2x2x3x3xf32>
    %22 = stablehlo.multiply %21, %3 : tensor<2x2x3x3xf32>
    %23 = stablehlo.constant dense<0.0> : tensor<f32>
    %24 = stablehlo.reduce(%22 init: %23) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2xf32>
    %28:1 = "stablehlo.all_reduce"(%24) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%25: tensor<f32>, %26: tensor<f32>):
        %27 = stablehlo.add %25, %26 : tensor<f32>
        stablehlo.return %27 : tensor<f32>
    }) : (tensor<2xf32>) -> (tensor<2xf32>)
    %29 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %30 = stablehlo.divide %28#0, %29 : tensor<2xf32>
    %31 = stablehlo.constant dense<0.0> : tensor<f32>
    %32 = stablehlo.compare GT, %14#0, %31, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %33 = stablehlo.subtract %18, %arg6 : tensor<2xf32>
    %34 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %35 = stablehlo.multiply %33, %34 : tensor<2xf32>
    %36 = stablehlo.add %arg6, %35 : tensor<2xf32>
    %37 = stablehlo.select %32, %36, %arg6 : tensor<i1>, tensor<2xf32>
    %38 = stablehlo.subtract %30, %arg7 : tensor<2xf32>
    %39 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %40 = stablehlo.multiply %38, %39 : tensor<2xf32>
    %41 = stablehlo.add %arg7, %40 : tensor<2xf32>
    %42 = stablehlo.select %32, %41, %arg7 : tensor<i1>, tensor<2xf32>
    %43 = stablehlo.constant dense<0.001> : tensor<2xf32>
    %44 = stablehlo.add %30, %43 : tensor<2xf32>
    %45 = stablehlo.rsqrt %44 : tensor<2xf32>
    %46 = stablehlo.broadcast_in_dim %18, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %47 = stablehlo.subtract %2, %46 : tensor<2x2x3x3xf32>
    %48 = stablehlo.broadcast_in_dim %45, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %49 = stablehlo.multiply %47, %48 : tensor<2x2x3x3xf32>
    %50 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %51 = stablehlo.multiply %49, %50 : tensor<2x2x3x3xf32>
    %52 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %53 = stablehlo.add %51, %52 : tensor<2x2x3x3xf32>
    // forward: relu [2, 3, 3]
    %54 = stablehlo.constant dense<0.0> : tensor<2x2x3x3xf32>
    %55 = stablehlo.maximum %53, %54 : tensor<2x2x3x3xf32>
    // forward: add [2, 3, 3]
    %56 = stablehlo.add %55, %2 : tensor<2x2x3x3xf32>
    // forward: flatten [18]
    %57 = stablehlo.reshape %56 : (tensor<2x2x3x3xf32>) -> tensor<2x18xf32>
    // forward: dense [3]
    %58 = stablehlo.dot_general %57, %arg4, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x18xf32>, tensor<3x18xf32>) -> tensor<2x3xf32>
    %59 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %60 = stablehlo.add %58, %59 : tensor<2x3xf32>
    // loss: cross_entropy
    %61 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %62 = stablehlo.reduce(%60 init: %61) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %64 = stablehlo.subtract %60, %63 : tensor<2x3xf32>
    %65 = stablehlo.exponential %64 : tensor<2x3xf32>
    %66 = stablehlo.constant dense<0.0> : tensor<f32>
    %67 = stablehlo.reduce(%65 init: %66) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %68 = stablehlo.log %67 : tensor<2xf32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %70 = stablehlo.subtract %64, %69 : tensor<2x3xf32>
    %71 = stablehlo.broadcast_in_dim %67, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %72 = stablehlo.divide %65, %71 : tensor<2x3xf32>
    %73 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %74 = stablehlo.broadcast_in_dim %62, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %75 = stablehlo.broadcast_in_dim %arg31, dims = [0] : (tensor<2xi32>) -> tensor<2x3xi32>
    %76 = stablehlo.compare EQ, %73, %75, SIGNED : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %77 = stablehlo.constant dense<0.0> : tensor<2x3xf32>
    %78 = stablehlo.select %76, %70, %77 : tensor<2x3xi1>, tensor<2x3xf32>
    %79 = stablehlo.constant dense<0.0> : tensor<f32>
    %80 = stablehlo.reduce(%78 init: %79) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %81 = stablehlo.negate %80 : tensor<2xf32>
    %82 = stablehlo.convert %76 : (tensor<2x3xi1>) -> tensor<2x3xf32>
    %83 = stablehlo.constant dense<0.0> : tensor<f32>
    %84 = stablehlo.reduce(%70 init: %83) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %85 = stablehlo.constant dense<0.033333335> : tensor<2xf32>
    %86 = stablehlo.multiply %84, %85 : tensor<2xf32>
    %87 = stablehlo.constant dense<0.9> : tensor<2xf32>
    %88 = stablehlo.multiply %81, %87 : tensor<2xf32>
    %89 = stablehlo.subtract %88, %86 : tensor<2xf32>
    %90 = stablehlo.constant dense<0.9> : tensor<2x3xf32>
    %91 = stablehlo.multiply %82, %90 : tensor<2x3xf32>
    %92 = stablehlo.constant dense<0.033333335> : tensor<2x3xf32>
    %93 = stablehlo.add %91, %92 : tensor<2x3xf32>
    %94 = stablehlo.subtract %72, %93 : tensor<2x3xf32>
    %95 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %96 = stablehlo.broadcast_in_dim %95, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %97 = stablehlo.constant dense<0.0> : tensor<2x3xf32>
    %98 = stablehlo.select %76, %96, %97 : tensor<2x3xi1>, tensor<2x3xf32>
    %99 = stablehlo.constant dense<0.0> : tensor<f32>
    %100 = stablehlo.reduce(%98 init: %99) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %101 = stablehlo.multiply %89, %100 : tensor<2xf32>
    %102 = stablehlo.broadcast_in_dim %100, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %103 = stablehlo.multiply %94, %102 : tensor<2x3xf32>
    %104 = stablehlo.broadcast_in_dim %arg33, dims = [0] : (tensor<2xi32>) -> tensor<2x3xi32>
    %105 = stablehlo.compare EQ, %73, %104, SIGNED : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %106 = stablehlo.constant dense<0.0> : tensor<2x3xf32>
    %107 = stablehlo.select %105, %70, %106 : tensor<2x3xi1>, tensor<2x3xf32>
    %108 = stablehlo.constant dense<0.0> : tensor<f32>
    %109 = stablehlo.reduce(%107 init: %108) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %110 = stablehlo.negate %109 : tensor<2xf32>
    %111 = stablehlo.convert %105 : (tensor<2x3xi1>) -> tensor<2x3xf32>
    %112 = stablehlo.constant dense<0.0> : tensor<f32>
    %113 = stablehlo.reduce(%70 init: %112) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %114 = stablehlo.constant dense<0.033333335> : tensor<2xf32>
    %115 = stablehlo.multiply %113, %114 : tensor<2xf32>
    %116 = stablehlo.constant dense<0.9> : tensor<2xf32>
    %117 = stablehlo.multiply %110, %116 : tensor<2xf32>
    %118 = stablehlo.subtract %117, %115 : tensor<2xf32>
    %119 = stablehlo.constant dense<0.9> : tensor<2x3xf32>
    %120 = stablehlo.multiply %111, %119 : tensor<2x3xf32>
    %121 = stablehlo.constant dense<0.033333335> : tensor<2x3xf32>
    %122 = stablehlo.add %120, %121 : tensor<2x3xf32>
    %123 = stablehlo.subtract %72, %122 : tensor<2x3xf32>
    %124 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    %125 = stablehlo.broadcast_in_dim %124, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %126 = stablehlo.constant dense<0.0> : tensor<2x3xf32>
    %127 = stablehlo.select %105, %125, %126 : tensor<2x3xi1>, tensor<2x3xf32>
    %128 = stablehlo.constant dense<0.0> : tensor<f32>
    %129 = stablehlo.reduce(%127 init: %128) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %130 = stablehlo.multiply %118, %129 : tensor<2xf32>
    %131 = stablehlo.broadcast_in_dim %129, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %132 = stablehlo.multiply %123, %131 : tensor<2x3xf32>
    %133 = stablehlo.constant dense<1.0> : tensor<2xf32>
    %134 = stablehlo.subtract %133, %arg34 : tensor<2xf32>
    %135 = stablehlo.multiply %130, %134 : tensor<2xf32>
    %136 = stablehlo.multiply %101, %arg34 : tensor<2xf32>
    %137 = stablehlo.add %136, %135 : tensor<2xf32>
    %138 = stablehlo.broadcast_in_dim %134, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %139 = stablehlo.multiply %132, %138 : tensor<2x3xf32>
    %140 = stablehlo.broadcast_in_dim %arg34, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %141 = stablehlo.multiply %103, %140 : tensor<2x3xf32>
    %142 = stablehlo.add %141, %139 : tensor<2x3xf32>
    %143 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %144 = stablehlo.compare GT, %arg32, %143, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %145 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %146 = stablehlo.compare NE, %60, %60, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %147 = stablehlo.compare EQ, %60, %74, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %148 = stablehlo.or %147, %146 : tensor<2x3xi1>
    %149 = stablehlo.constant dense<3> : tensor<2x3xi32>
    %150 = stablehlo.select %148, %73, %149 : tensor<2x3xi1>, tensor<2x3xi32>
    %151 = stablehlo.constant dense<2147483647> : tensor<i32>
    %152 = stablehlo.reduce(%150 init: %151) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    %153 = stablehlo.compare EQ, %152, %arg31, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %154 = stablehlo.convert %153 : (tensor<2xi1>) -> tensor<2xf32>
    %155 = stablehlo.select %144, %137, %145 : tensor<2xi1>, tensor<2xf32>
    %156 = stablehlo.reshape %155 : (tensor<2xf32>) -> tensor<1x2xf32>
    %157 = stablehlo.select %144, %arg32, %145 : tensor<2xi1>, tensor<2xf32>
    %158 = stablehlo.reshape %157 : (tensor<2xf32>) -> tensor<1x2xf32>
    %159 = stablehlo.select %144, %154, %145 : tensor<2xi1>, tensor<2xf32>
    %160 = stablehlo.reshape %159 : (tensor<2xf32>) -> tensor<1x2xf32>
    %161 = stablehlo.concatenate %156, %158, %160, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %162 = stablehlo.broadcast_in_dim %arg28, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %163 = stablehlo.divide %arg32, %162 : tensor<2xf32>
    %164 = stablehlo.broadcast_in_dim %163, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %165 = stablehlo.multiply %142, %164 : tensor<2x3xf32>
    %166 = stablehlo.constant dense<0.0> : tensor<f32>
    %167 = stablehlo.reduce(%161 init: %166) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %168 = stablehlo.dot_general %165, %57, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x18xf32>) -> tensor<3x18xf32>
    %169 = stablehlo.constant dense<0.0> : tensor<f32>
    %170 = stablehlo.reduce(%165 init: %169) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    %171 = stablehlo.dot_general %165, %arg4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<3x18xf32>) -> tensor<2x18xf32>
    // backward: flatten
    %172 = stablehlo.reshape %171 : (tensor<2x18xf32>) -> tensor<2x2x3x3xf32>
    // backward: add
    // backward: relu
    %173 = stablehlo.constant dense<0.0> : tensor<2x2x3x3xf32>
    %174 = stablehlo.compare LE, %55, %173, FLOAT : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xi1>
    %175 = stablehlo.constant dense<0.0> : tensor<2x2x3x3xf32>
    %176 = stablehlo.select %174, %175, %172 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    // backward: batch_norm
    %177 = stablehlo.multiply %176, %49 : tensor<2x2x3x3xf32>
    %178 = stablehlo.constant dense<0.0> : tensor<f32>
    %179 = stablehlo.reduce(%177 init: %178) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2xf32>
    %180 = stablehlo.constant dense<0.0> : tensor<f32>
    %181 = stablehlo.reduce(%176 init: %180) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2xf32>
    %185:2 = "stablehlo.all_reduce"(%179, %181) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%182: tensor<f32>, %183: tensor<f32>):
        %184 = stablehlo.add %182, %183 : tensor<f32>
        stablehlo.return %184 : tensor<f32>
    }) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %186 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %187 = stablehlo.divide %185#1, %186 : tensor<2xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %189 = stablehlo.subtract %176, %188 : tensor<2x2x3x3xf32>
    %190 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %191 = stablehlo.divide %185#0, %190 : tensor<2xf32>
    %192 = stablehlo.broadcast_in_dim %191, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %193 = stablehlo.multiply %49, %192 : tensor<2x2x3x3xf32>
    %194 = stablehlo.subtract %189, %193 : tensor<2x2x3x3xf32>
    %195 = stablehlo.multiply %45, %arg2 : tensor<2xf32>
    %196 = stablehlo.broadcast_in_dim %195, dims = [1] : (tensor<2xf32>) -> tensor<2x2x3x3xf32>
    %197 = stablehlo.multiply %194, %196 : tensor<2x2x3x3xf32>
    %198 = stablehlo.multiply %197, %3 : tensor<2x2x3x3xf32>
    %199 = stablehlo.add %172, %198 : tensor<2x2x3x3xf32>
    // backward: conv2d
    %200 = stablehlo.constant dense<0.0> : tensor<f32>
    %201 = stablehlo.pad %arg30, %200, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<2x1x3x3xf32>, tensor<f32>) -> tensor<2x1x3x3xf32>
    %202 = stablehlo.slice %201 [0:2, 0:1, 0:3, 0:3] : (tensor<2x1x3x3xf32>) -> tensor<2x1x3x3xf32>
    %203 = stablehlo.concatenate %202, dim = 1 : (tensor<2x1x3x3xf32>) -> tensor<2x1x3x3xf32>
    %204 = stablehlo.transpose %203, dims = [1, 0, 2, 3] : (tensor<2x1x3x3xf32>) -> tensor<1x2x3x3xf32>
    %205 = stablehlo.reshape %204 : (tensor<1x2x3x3xf32>) -> tensor<1x18xf32>
    %206 = stablehlo.transpose %199, dims = [1, 0, 2, 3] : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
    %207 = stablehlo.reshape %206 : (tensor<2x2x3x3xf32>) -> tensor<2x18xf32>
    %208 = stablehlo.dot_general %207, %205, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x18xf32>, tensor<1x18xf32>) -> tensor<2x1xf32>
    %209 = stablehlo.reshape %208 : (tensor<2x1xf32>) -> tensor<2x1x1x1xf32>
    %210 = stablehlo.transpose %209, dims = [0, 3, 1, 2] : (tensor<2x1x1x1xf32>) -> tensor<2x1x1x1xf32>
    %211 = stablehlo.constant dense<0.0> : tensor<f32>
    %212 = stablehlo.reduce(%199 init: %211) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2xf32>
    // the sums over all devices
    %216:7 = "stablehlo.all_reduce"(%210, %212, %179, %181, %168, %170, %167) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%213: tensor<f32>, %214: tensor<f32>):
        %215 = stablehlo.add %213, %214 : tensor<f32>
        stablehlo.return %215 : tensor<f32>
    }) : (tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<3xf32>)
    // clipping
    %217 = stablehlo.multiply %216#0, %216#0 : tensor<2x1x1x1xf32>
    %218 = stablehlo.constant dense<0.0> : tensor<f32>
    %219 = stablehlo.reduce(%217 init: %218) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x1x1x1xf32>, tensor<f32>) -> tensor<f32>
    %220 = stablehlo.multiply %216#1, %216#1 : tensor<2xf32>
    %221 = stablehlo.constant dense<0.0> : tensor<f32>
    %222 = stablehlo.reduce(%220 init: %221) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %223 = stablehlo.add %219, %222 : tensor<f32>
    %224 = stablehlo.multiply %216#2, %216#2 : tensor<2xf32>
    %225 = stablehlo.constant dense<0.0> : tensor<f32>
    %226 = stablehlo.reduce(%224 init: %225) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %227 = stablehlo.add %223, %226 : tensor<f32>
    %228 = stablehlo.multiply %216#3, %216#3 : tensor<2xf32>
    %229 = stablehlo.constant dense<0.0> : tensor<f32>
    %230 = stablehlo.reduce(%228 init: %229) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %231 = stablehlo.add %227, %230 : tensor<f32>
    %232 = stablehlo.multiply %216#4, %216#4 : tensor<3x18xf32>
    %233 = stablehlo.constant dense<0.0> : tensor<f32>
    %234 = stablehlo.reduce(%232 init: %233) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x18xf32>, tensor<f32>) -> tensor<f32>
    %235 = stablehlo.add %231, %234 : tensor<f32>
    %236 = stablehlo.multiply %216#5, %216#5 : tensor<3xf32>
    %237 = stablehlo.constant dense<0.0> : tensor<f32>
    %238 = stablehlo.reduce(%236 init: %237) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %239 = stablehlo.add %235, %238 : tensor<f32>
    %240 = stablehlo.sqrt %239 : tensor<f32>
    %241 = stablehlo.constant dense<1.0e-06> : tensor<f32>
    %242 = stablehlo.add %240, %241 : tensor<f32>
    %243 = stablehlo.constant dense<1.0> : tensor<f32>
    %244 = stablehlo.divide %243, %242 : tensor<f32>
    %245 = stablehlo.constant dense<1.0> : tensor<f32>
    %246 = stablehlo.minimum %244, %245 : tensor<f32>
    %247 = stablehlo.broadcast_in_dim %246, dims = [] : (tensor<f32>) -> tensor<2x1x1x1xf32>
    %248 = stablehlo.multiply %216#0, %247 : tensor<2x1x1x1xf32>
    %249 = stablehlo.broadcast_in_dim %246, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %250 = stablehlo.multiply %216#1, %249 : tensor<2xf32>
    %251 = stablehlo.broadcast_in_dim %246, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %252 = stablehlo.multiply %216#2, %251 : tensor<2xf32>
    %253 = stablehlo.broadcast_in_dim %246, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %254 = stablehlo.multiply %216#3, %253 : tensor<2xf32>
    %255 = stablehlo.broadcast_in_dim %246, dims = [] : (tensor<f32>) -> tensor<3x18xf32>
    %256 = stablehlo.multiply %216#4, %255 : tensor<3x18xf32>
    %257 = stablehlo.broadcast_in_dim %246, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %258 = stablehlo.multiply %216#5, %257 : tensor<3xf32>
    // update: first.weight
    %259 = stablehlo.multiply %248, %248 : tensor<2x1x1x1xf32>
    %260 = stablehlo.constant dense<0.01> : tensor<2x1x1x1xf32>
    %261 = stablehlo.multiply %259, %260 : tensor<2x1x1x1xf32>
    %262 = stablehlo.constant dense<0.99> : tensor<2x1x1x1xf32>
    %263 = stablehlo.multiply %arg8, %262 : tensor<2x1x1x1xf32>
    %264 = stablehlo.add %263, %261 : tensor<2x1x1x1xf32>
    %265 = stablehlo.sqrt %264 : tensor<2x1x1x1xf32>
    %266 = stablehlo.constant dense<1.0e-08> : tensor<2x1x1x1xf32>
    %267 = stablehlo.add %265, %266 : tensor<2x1x1x1xf32>
    %268 = stablehlo.divide %248, %267 : tensor<2x1x1x1xf32>
    %269 = stablehlo.constant dense<0.5> : tensor<2x1x1x1xf32>
    %270 = stablehlo.multiply %arg14, %269 : tensor<2x1x1x1xf32>
    %271 = stablehlo.add %270, %268 : tensor<2x1x1x1xf32>
    %272 = stablehlo.broadcast_in_dim %arg27, dims = [] : (tensor<f32>) -> tensor<2x1x1x1xf32>
    %273 = stablehlo.multiply %272, %271 : tensor<2x1x1x1xf32>
    %274 = stablehlo.subtract %arg0, %273 : tensor<2x1x1x1xf32>
    %275 = stablehlo.subtract %274, %arg20 : tensor<2x1x1x1xf32>
    %276 = stablehlo.constant dense<0.1> : tensor<2x1x1x1xf32>
    %277 = stablehlo.multiply %275, %276 : tensor<2x1x1x1xf32>
    %278 = stablehlo.add %arg20, %277 : tensor<2x1x1x1xf32>
    // update: first.bias
    %279 = stablehlo.multiply %250, %250 : tensor<2xf32>
    %280 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %281 = stablehlo.multiply %279, %280 : tensor<2xf32>
    %282 = stablehlo.constant dense<0.99> : tensor<2xf32>
    %283 = stablehlo.multiply %arg9, %282 : tensor<2xf32>
    %284 = stablehlo.add %283, %281 : tensor<2xf32>
    %285 = stablehlo.sqrt %284 : tensor<2xf32>
    %286 = stablehlo.constant dense<1.0e-08> : tensor<2xf32>
    %287 = stablehlo.add %285, %286 : tensor<2xf32>
    %288 = stablehlo.divide %250, %287 : tensor<2xf32>
    %289 = stablehlo.constant dense<0.5> : tensor<2xf32>
    %290 = stablehlo.multiply %arg15, %289 : tensor<2xf32>
    %291 = stablehlo.add %290, %288 : tensor<2xf32>
    %292 = stablehlo.broadcast_in_dim %arg27, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %293 = stablehlo.multiply %292, %291 : tensor<2xf32>
    %294 = stablehlo.subtract %arg1, %293 : tensor<2xf32>
    %295 = stablehlo.subtract %294, %arg21 : tensor<2xf32>
    %296 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %297 = stablehlo.multiply %295, %296 : tensor<2xf32>
    %298 = stablehlo.add %arg21, %297 : tensor<2xf32>
    // update: batch_norm.weight
    %299 = stablehlo.multiply %252, %252 : tensor<2xf32>
    %300 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %301 = stablehlo.multiply %299, %300 : tensor<2xf32>
    %302 = stablehlo.constant dense<0.99> : tensor<2xf32>
    %303 = stablehlo.multiply %arg10, %302 : tensor<2xf32>
    %304 = stablehlo.add %303, %301 : tensor<2xf32>
    %305 = stablehlo.sqrt %304 : tensor<2xf32>
    %306 = stablehlo.constant dense<1.0e-08> : tensor<2xf32>
    %307 = stablehlo.add %305, %306 : tensor<2xf32>
    %308 = stablehlo.divide %252, %307 : tensor<2xf32>
    %309 = stablehlo.constant dense<0.5> : tensor<2xf32>
    %310 = stablehlo.multiply %arg16, %309 : tensor<2xf32>
    %311 = stablehlo.add %310, %308 : tensor<2xf32>
    %312 = stablehlo.broadcast_in_dim %arg27, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %313 = stablehlo.multiply %312, %311 : tensor<2xf32>
    %314 = stablehlo.subtract %arg2, %313 : tensor<2xf32>
    %315 = stablehlo.subtract %314, %arg22 : tensor<2xf32>
    %316 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %317 = stablehlo.multiply %315, %316 : tensor<2xf32>
    %318 = stablehlo.add %arg22, %317 : tensor<2xf32>
    // update: batch_norm.bias
    %319 = stablehlo.multiply %254, %254 : tensor<2xf32>
    %320 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %321 = stablehlo.multiply %319, %320 : tensor<2xf32>
    %322 = stablehlo.constant dense<0.99> : tensor<2xf32>
    %323 = stablehlo.multiply %arg11, %322 : tensor<2xf32>
    %324 = stablehlo.add %323, %321 : tensor<2xf32>
    %325 = stablehlo.sqrt %324 : tensor<2xf32>
    %326 = stablehlo.constant dense<1.0e-08> : tensor<2xf32>
    %327 = stablehlo.add %325, %326 : tensor<2xf32>
    %328 = stablehlo.divide %254, %327 : tensor<2xf32>
    %329 = stablehlo.constant dense<0.5> : tensor<2xf32>
    %330 = stablehlo.multiply %arg17, %329 : tensor<2xf32>
    %331 = stablehlo.add %330, %328 : tensor<2xf32>
    %332 = stablehlo.broadcast_in_dim %arg27, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %333 = stablehlo.multiply %332, %331 : tensor<2xf32>
    %334 = stablehlo.subtract %arg3, %333 : tensor<2xf32>
    %335 = stablehlo.subtract %334, %arg23 : tensor<2xf32>
    %336 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %337 = stablehlo.multiply %335, %336 : tensor<2xf32>
    %338 = stablehlo.add %arg23, %337 : tensor<2xf32>
    // update: dense.weight
    %339 = stablehlo.multiply %256, %256 : tensor<3x18xf32>
    %340 = stablehlo.constant dense<0.01> : tensor<3x18xf32>
    %341 = stablehlo.multiply %339, %340 : tensor<3x18xf32>
    %342 = stablehlo.constant dense<0.99> : tensor<3x18xf32>
    %343 = stablehlo.multiply %arg12, %342 : tensor<3x18xf32>
    %344 = stablehlo.add %343, %341 : tensor<3x18xf32>
    %345 = stablehlo.sqrt %344 : tensor<3x18xf32>
    %346 = stablehlo.constant dense<1.0e-08> : tensor<3x18xf32>
    %347 = stablehlo.add %345, %346 : tensor<3x18xf32>
    %348 = stablehlo.divide %256, %347 : tensor<3x18xf32>
    %349 = stablehlo.constant dense<0.5> : tensor<3x18xf32>
    %350 = stablehlo.multiply %arg18, %349 : tensor<3x18xf32>
    %351 = stablehlo.add %350, %348 : tensor<3x18xf32>
    %352 = stablehlo.broadcast_in_dim %arg27, dims = [] : (tensor<f32>) -> tensor<3x18xf32>
    %353 = stablehlo.multiply %352, %351 : tensor<3x18xf32>
    %354 = stablehlo.subtract %arg4, %353 : tensor<3x18xf32>
    %355 = stablehlo.subtract %354, %arg24 : tensor<3x18xf32>
    %356 = stablehlo.constant dense<0.1> : tensor<3x18xf32>
    %357 = stablehlo.multiply %355, %356 : tensor<3x18xf32>
    %358 = stablehlo.add %arg24, %357 : tensor<3x18xf32>
    // update: dense.bias
    %359 = stablehlo.multiply %258, %258 : tensor<3xf32>
    %360 = stablehlo.constant dense<0.01> : tensor<3xf32>
    %361 = stablehlo.multiply %359, %360 : tensor<3xf32>
    %362 = stablehlo.constant dense<0.99> : tensor<3xf32>
    %363 = stablehlo.multiply %arg13, %362 : tensor<3xf32>
    %364 = stablehlo.add %363, %361 : tensor<3xf32>
    %365 = stablehlo.sqrt %364 : tensor<3xf32>
    %366 = stablehlo.constant dense<1.0e-08> : tensor<3xf32>
    %367 = stablehlo.add %365, %366 : tensor<3xf32>
    %368 = stablehlo.divide %258, %367 : tensor<3xf32>
    %369 = stablehlo.constant dense<0.5> : tensor<3xf32>
    %370 = stablehlo.multiply %arg19, %369 : tensor<3xf32>
    %371 = stablehlo.add %370, %368 : tensor<3xf32>
    %372 = stablehlo.broadcast_in_dim %arg27, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %373 = stablehlo.multiply %372, %371 : tensor<3xf32>
    %374 = stablehlo.subtract %arg5, %373 : tensor<3xf32>
    %375 = stablehlo.subtract %374, %arg25 : tensor<3xf32>
    %376 = stablehlo.constant dense<0.1> : tensor<3xf32>
    %377 = stablehlo.multiply %375, %376 : tensor<3xf32>
    %378 = stablehlo.add %arg25, %377 : tensor<3xf32>
    return %274, %294, %314, %334, %354, %374, %37, %42, %264, %284, %304, %324, %344, %364, %271, %291, %311, %331, %351, %371, %278, %298, %318, %338, %358, %378, %216#6 : tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x18xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
