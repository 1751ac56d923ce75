module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%arg0: tensor<4x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<4xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<4xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2x4xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<2xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<4x3xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<4xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<4xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<4xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<2x4xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<2xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<4x3xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<4xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<4xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<4xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<2x4xf32> {tf.aliasing_output = 16 : i32}, %arg17: tensor<2xf32> {tf.aliasing_output = 17 : i32}, %arg18: tensor<f32>, %arg19: tensor<f32>, %arg20: tensor<f32>, %arg21: tensor<2xui32>, %arg22: tensor<2x3xf32>, %arg23: tensor<2x2xf32>, %arg24: tensor<2xf32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<6xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: layer_norm.weight
    // %arg3: layer_norm.bias
    // %arg4: dense_1.weight
    // %arg5: dense_1.bias
    // %arg6: optimizer.average.dense.weight
    // %arg7: optimizer.average.dense.bias
    // %arg8: optimizer.average.layer_norm.weight
    // %arg9: optimizer.average.layer_norm.bias
    // %arg10: optimizer.average.dense_1.weight
    // %arg11: optimizer.average.dense_1.bias
    // %arg12: optimizer.square_average.dense.weight
    // %arg13: optimizer.square_average.dense.bias
    // %arg14: optimizer.square_average.layer_norm.weight
    // %arg15: optimizer.square_average.layer_norm.bias
    // %arg16: optimizer.square_average.dense_1.weight
    // %arg17: optimizer.square_average.dense_1.bias
    // %arg18: step
    // %arg19: learning_rate
    // %arg20: examples
    // %arg21: seed
    // %arg22: inputs
    // %arg23: targets
    // %arg24: weights
    %0 = stablehlo.reshape %arg21 : (tensor<2xui32>) -> tensor<1x2xui32>
    %1 = stablehlo.bitcast_convert %0 : (tensor<1x2xui32>) -> tensor<1xui64>
    %2 = stablehlo.replica_id : tensor<ui32>
    %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<ui64>
    %4 = stablehlo.reshape %3 : (tensor<ui64>) -> tensor<1xui64>
    %5 = stablehlo.constant dense<4503599627370496> : tensor<1xui64>
    %6 = stablehlo.multiply %4, %5 : tensor<1xui64>
    // forward: dense [4]
    %7 = stablehlo.dot_general %arg22, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
    %8 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %9 = stablehlo.add %7, %8 : tensor<2x4xf32>
    // forward: layer_norm [4]
    %10 = stablehlo.constant dense<0.0> : tensor<f32>
    %11 = stablehlo.reduce(%9 init: %10) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %12 = stablehlo.constant dense<4.0> : tensor<2xf32>
    %13 = stablehlo.divide %11, %12 : tensor<2xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %15 = stablehlo.subtract %9, %14 : tensor<2x4xf32>
    %16 = stablehlo.multiply %15, %15 : tensor<2x4xf32>
    %17 = stablehlo.constant dense<0.0> : tensor<f32>
    %18 = stablehlo.reduce(%16 init: %17) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %19 = stablehlo.constant dense<4.0> : tensor<2xf32>
    %20 = stablehlo.divide %18, %19 : tensor<2xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %22 = stablehlo.constant dense<0.001> : tensor<2x4xf32>
    %23 = stablehlo.add %21, %22 : tensor<2x4xf32>
    %24 = stablehlo.rsqrt %23 : tensor<2x4xf32>
    %25 = stablehlo.multiply %15, %24 : tensor<2x4xf32>
    %26 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %27 = stablehlo.multiply %25, %26 : tensor<2x4xf32>
    %28 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %29 = stablehlo.add %27, %28 : tensor<2x4xf32>
    // forward: gelu [4]
    %30 = stablehlo.constant dense<0.70710677> : tensor<2x4xf32>
    %31 = stablehlo.multiply %29, %30 : tensor<2x4xf32>
    %32 = chlo.erf %31 : tensor<2x4xf32> -> tensor<2x4xf32>
    %33 = stablehlo.constant dense<1.0> : tensor<2x4xf32>
    %34 = stablehlo.add %32, %33 : tensor<2x4xf32>
    %35 = stablehlo.constant dense<0.5> : tensor<2x4xf32>
    %36 = stablehlo.multiply %34, %35 : tensor<2x4xf32>
    %37 = stablehlo.multiply %29, %36 : tensor<2x4xf32>
    // forward: dropout [4]
    %38 = stablehlo.constant dense<3298534883328> : tensor<1xui64>
    %39 = stablehlo.add %6, %38 : tensor<1xui64>
    %40 = stablehlo.concatenate %1, %39, dim = 0 : (tensor<1xui64>, tensor<1xui64>) -> tensor<2xui64>
    %41, %42 = stablehlo.rng_bit_generator %40, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x4xui32>)
    %43 = stablehlo.constant dense<2147483648> : tensor<2x4xui32>
    %44 = stablehlo.compare LT, %42, %43, UNSIGNED : (tensor<2x4xui32>, tensor<2x4xui32>) -> tensor<2x4xi1>
    %45 = stablehlo.constant dense<2.0> : tensor<2x4xf32>
    %46 = stablehlo.multiply %37, %45 : tensor<2x4xf32>
    %47 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %48 = stablehlo.select %44, %47, %46 : tensor<2x4xi1>, tensor<2x4xf32>
    // forward: relu6 [4]
    %49 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %50 = stablehlo.constant dense<6.0> : tensor<2x4xf32>
    %51 = stablehlo.maximum %48, %49 : tensor<2x4xf32>
    %52 = stablehlo.minimum %51, %50 : tensor<2x4xf32>
    // forward: tanh [4]
    %53 = stablehlo.tanh %52 : tensor<2x4xf32>
    // forward: sigmoid [4]
    %54 = stablehlo.logistic %53 : tensor<2x4xf32>
    // forward: dense [2]
    %55 = stablehlo.dot_general %54, %arg4, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
    %56 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %57 = stablehlo.add %55, %56 : tensor<2x2xf32>
    // loss: binary_cross_entropy
    %58 = stablehlo.abs %57 : tensor<2x2xf32>
    %59 = stablehlo.negate %58 : tensor<2x2xf32>
    %60 = stablehlo.exponential %59 : tensor<2x2xf32>
    %61 = stablehlo.multiply %57, %arg23 : tensor<2x2xf32>
    %62 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %63 = stablehlo.maximum %57, %62 : tensor<2x2xf32>
    %64 = stablehlo.subtract %63, %61 : tensor<2x2xf32>
    %65 = stablehlo.log_plus_one %60 : tensor<2x2xf32>
    %66 = stablehlo.add %64, %65 : tensor<2x2xf32>
    %67 = stablehlo.logistic %57 : tensor<2x2xf32>
    %68 = stablehlo.subtract %67, %arg23 : tensor<2x2xf32>
    %69 = stablehlo.constant dense<2.0> : tensor<2x2xf32>
    %70 = stablehlo.divide %68, %69 : tensor<2x2xf32>
    %71 = stablehlo.constant dense<0.0> : tensor<f32>
    %72 = stablehlo.reduce(%66 init: %71) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %73 = stablehlo.constant dense<2.0> : tensor<2xf32>
    %74 = stablehlo.divide %72, %73 : tensor<2xf32>
    %75 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %76 = stablehlo.compare GT, %arg24, %75, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %77 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %78 = stablehlo.constant dense<0.5> : tensor<2x2xf32>
    %79 = stablehlo.compare GT, %arg23, %78, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %80 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %81 = stablehlo.compare GT, %57, %80, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %82 = stablehlo.xor %81, %79 : tensor<2x2xi1>
    %83 = stablehlo.convert %82 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %84 = stablehlo.constant dense<1.0> : tensor<2x2xf32>
    %85 = stablehlo.subtract %84, %83 : tensor<2x2xf32>
    %86 = stablehlo.constant dense<0.0> : tensor<f32>
    %87 = stablehlo.reduce(%85 init: %86) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %88 = stablehlo.constant dense<2.0> : tensor<2xf32>
    %89 = stablehlo.divide %87, %88 : tensor<2xf32>
    %90 = stablehlo.and %81, %79 : tensor<2x2xi1>
    %91 = stablehlo.convert %90 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %92 = stablehlo.constant dense<0.0> : tensor<f32>
    %93 = stablehlo.reduce(%91 init: %92) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %94 = stablehlo.convert %81 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %95 = stablehlo.constant dense<0.0> : tensor<f32>
    %96 = stablehlo.reduce(%94 init: %95) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %97 = stablehlo.convert %79 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %98 = stablehlo.constant dense<0.0> : tensor<f32>
    %99 = stablehlo.reduce(%97 init: %98) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %100 = stablehlo.select %76, %74, %77 : tensor<2xi1>, tensor<2xf32>
    %101 = stablehlo.constant dense<0.0> : tensor<f32>
    %102 = stablehlo.reduce(%100 init: %101) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %103 = stablehlo.reshape %102 : (tensor<f32>) -> tensor<1xf32>
    %104 = stablehlo.select %76, %arg24, %77 : tensor<2xi1>, tensor<2xf32>
    %105 = stablehlo.constant dense<0.0> : tensor<f32>
    %106 = stablehlo.reduce(%104 init: %105) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %107 = stablehlo.reshape %106 : (tensor<f32>) -> tensor<1xf32>
    %108 = stablehlo.select %76, %89, %77 : tensor<2xi1>, tensor<2xf32>
    %109 = stablehlo.constant dense<0.0> : tensor<f32>
    %110 = stablehlo.reduce(%108 init: %109) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %111 = stablehlo.reshape %110 : (tensor<f32>) -> tensor<1xf32>
    %112 = stablehlo.select %76, %93, %77 : tensor<2xi1>, tensor<2xf32>
    %113 = stablehlo.constant dense<0.0> : tensor<f32>
    %114 = stablehlo.reduce(%112 init: %113) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %115 = stablehlo.reshape %114 : (tensor<f32>) -> tensor<1xf32>
    %116 = stablehlo.select %76, %96, %77 : tensor<2xi1>, tensor<2xf32>
    %117 = stablehlo.constant dense<0.0> : tensor<f32>
    %118 = stablehlo.reduce(%116 init: %117) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %119 = stablehlo.reshape %118 : (tensor<f32>) -> tensor<1xf32>
    %120 = stablehlo.select %76, %99, %77 : tensor<2xi1>, tensor<2xf32>
    %121 = stablehlo.constant dense<0.0> : tensor<f32>
    %122 = stablehlo.reduce(%120 init: %121) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %123 = stablehlo.reshape %122 : (tensor<f32>) -> tensor<1xf32>
    %124 = stablehlo.broadcast_in_dim %arg20, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %125 = stablehlo.divide %arg24, %124 : tensor<2xf32>
    %126 = stablehlo.broadcast_in_dim %125, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %127 = stablehlo.multiply %70, %126 : tensor<2x2xf32>
    %128 = stablehlo.concatenate %103, %107, %111, %115, %119, %123, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<6xf32>
    // backward: dense
    %129 = stablehlo.dot_general %127, %54, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %130 = stablehlo.constant dense<0.0> : tensor<f32>
    %131 = stablehlo.reduce(%127 init: %130) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %132 = stablehlo.dot_general %127, %arg4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // backward: sigmoid
    %133 = stablehlo.constant dense<1.0> : tensor<2x4xf32>
    %134 = stablehlo.subtract %133, %54 : tensor<2x4xf32>
    %135 = stablehlo.multiply %54, %134 : tensor<2x4xf32>
    %136 = stablehlo.multiply %132, %135 : tensor<2x4xf32>
    // backward: tanh
    %137 = stablehlo.multiply %53, %53 : tensor<2x4xf32>
    %138 = stablehlo.constant dense<1.0> : tensor<2x4xf32>
    %139 = stablehlo.subtract %138, %137 : tensor<2x4xf32>
    %140 = stablehlo.multiply %136, %139 : tensor<2x4xf32>
    // backward: relu6
    %141 = stablehlo.compare LE, %52, %49, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %142 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %143 = stablehlo.select %141, %142, %140 : tensor<2x4xi1>, tensor<2x4xf32>
    %144 = stablehlo.compare GE, %52, %50, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %145 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %146 = stablehlo.select %144, %145, %143 : tensor<2x4xi1>, tensor<2x4xf32>
    // backward: dropout
    %147 = stablehlo.constant dense<2.0> : tensor<2x4xf32>
    %148 = stablehlo.multiply %146, %147 : tensor<2x4xf32>
    %149 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %150 = stablehlo.select %44, %149, %148 : tensor<2x4xi1>, tensor<2x4xf32>
    // backward: gelu
    %151 = stablehlo.multiply %29, %29 : tensor<2x4xf32>
    %152 = stablehlo.constant dense<-0.5> : tensor<2x4xf32>
    %153 = stablehlo.multiply %151, %152 : tensor<2x4xf32>
    %154 = stablehlo.exponential %153 : tensor<2x4xf32>
    %155 = stablehlo.constant dense<0.3989423> : tensor<2x4xf32>
    %156 = stablehlo.multiply %154, %155 : tensor<2x4xf32>
    %157 = stablehlo.multiply %29, %156 : tensor<2x4xf32>
    %158 = stablehlo.add %36, %157 : tensor<2x4xf32>
    %159 = stablehlo.multiply %150, %158 : tensor<2x4xf32>
    // backward: layer_norm
    %160 = stablehlo.multiply %159, %25 : tensor<2x4xf32>
    %161 = stablehlo.constant dense<0.0> : tensor<f32>
    %162 = stablehlo.reduce(%160 init: %161) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %163 = stablehlo.constant dense<0.0> : tensor<f32>
    %164 = stablehlo.reduce(%159 init: %163) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %165 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %166 = stablehlo.multiply %159, %165 : tensor<2x4xf32>
    %167 = stablehlo.constant dense<0.0> : tensor<f32>
    %168 = stablehlo.reduce(%166 init: %167) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %169 = stablehlo.constant dense<4.0> : tensor<2xf32>
    %170 = stablehlo.divide %168, %169 : tensor<2xf32>
    %171 = stablehlo.broadcast_in_dim %170, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %172 = stablehlo.subtract %166, %171 : tensor<2x4xf32>
    %173 = stablehlo.multiply %166, %25 : tensor<2x4xf32>
    %174 = stablehlo.constant dense<0.0> : tensor<f32>
    %175 = stablehlo.reduce(%173 init: %174) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %176 = stablehlo.constant dense<4.0> : tensor<2xf32>
    %177 = stablehlo.divide %175, %176 : tensor<2xf32>
    %178 = stablehlo.broadcast_in_dim %177, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %179 = stablehlo.multiply %25, %178 : tensor<2x4xf32>
    %180 = stablehlo.subtract %172, %179 : tensor<2x4xf32>
    %181 = stablehlo.multiply %180, %24 : tensor<2x4xf32>
    // backward: dense
    %182 = stablehlo.dot_general %181, %arg22, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %183 = stablehlo.constant dense<0.0> : tensor<f32>
    %184 = stablehlo.reduce(%181 init: %183) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    // the sums over all devices
    %188:7 = "stablehlo.all_reduce"(%182, %184, %162, %164, %129, %131, %128) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%185: tensor<f32>, %186: tensor<f32>):
        %187 = stablehlo.add %185, %186 : tensor<f32>
        stablehlo.return %187 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<6xf32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<6xf32>)
    %189 = stablehlo.constant dense<-0.105360515> : tensor<f32>
    %190 = stablehlo.multiply %arg18, %189 : tensor<f32>
    %191 = stablehlo.exponential_minus_one %190 : tensor<f32>
    %192 = stablehlo.negate %191 : tensor<f32>
    %193 = stablehlo.divide %arg19, %192 : tensor<f32>
    %194 = stablehlo.constant dense<-0.0010005003> : tensor<f32>
    %195 = stablehlo.multiply %arg18, %194 : tensor<f32>
    %196 = stablehlo.exponential_minus_one %195 : tensor<f32>
    %197 = stablehlo.negate %196 : tensor<f32>
    %198 = stablehlo.rsqrt %197 : tensor<f32>
    // update: dense.weight
    %199 = stablehlo.subtract %188#0, %arg6 : tensor<4x3xf32>
    %200 = stablehlo.constant dense<0.1> : tensor<4x3xf32>
    %201 = stablehlo.multiply %199, %200 : tensor<4x3xf32>
    %202 = stablehlo.add %arg6, %201 : tensor<4x3xf32>
    %203 = stablehlo.multiply %188#0, %188#0 : tensor<4x3xf32>
    %204 = stablehlo.constant dense<0.001> : tensor<4x3xf32>
    %205 = stablehlo.multiply %203, %204 : tensor<4x3xf32>
    %206 = stablehlo.constant dense<0.999> : tensor<4x3xf32>
    %207 = stablehlo.multiply %arg12, %206 : tensor<4x3xf32>
    %208 = stablehlo.add %207, %205 : tensor<4x3xf32>
    %209 = stablehlo.constant dense<0.1> : tensor<f32>
    %210 = stablehlo.multiply %arg19, %209 : tensor<f32>
    %211 = stablehlo.constant dense<1.0> : tensor<f32>
    %212 = stablehlo.subtract %211, %210 : tensor<f32>
    %213 = stablehlo.broadcast_in_dim %212, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %214 = stablehlo.multiply %arg0, %213 : tensor<4x3xf32>
    %215 = stablehlo.sqrt %208 : tensor<4x3xf32>
    %216 = stablehlo.broadcast_in_dim %198, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %217 = stablehlo.multiply %215, %216 : tensor<4x3xf32>
    %218 = stablehlo.constant dense<1.0e-08> : tensor<4x3xf32>
    %219 = stablehlo.add %217, %218 : tensor<4x3xf32>
    %220 = stablehlo.broadcast_in_dim %193, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %221 = stablehlo.multiply %220, %202 : tensor<4x3xf32>
    %222 = stablehlo.divide %221, %219 : tensor<4x3xf32>
    %223 = stablehlo.subtract %214, %222 : tensor<4x3xf32>
    // update: dense.bias
    %224 = stablehlo.subtract %188#1, %arg7 : tensor<4xf32>
    %225 = stablehlo.constant dense<0.1> : tensor<4xf32>
    %226 = stablehlo.multiply %224, %225 : tensor<4xf32>
    %227 = stablehlo.add %arg7, %226 : tensor<4xf32>
    %228 = stablehlo.multiply %188#1, %188#1 : tensor<4xf32>
    %229 = stablehlo.constant dense<0.001> : tensor<4xf32>
    %230 = stablehlo.multiply %228, %229 : tensor<4xf32>
    %231 = stablehlo.constant dense<0.999> : tensor<4xf32>
    %232 = stablehlo.multiply %arg13, %231 : tensor<4xf32>
    %233 = stablehlo.add %232, %230 : tensor<4xf32>
    %234 = stablehlo.constant dense<0.1> : tensor<f32>
    %235 = stablehlo.multiply %arg19, %234 : tensor<f32>
    %236 = stablehlo.constant dense<1.0> : tensor<f32>
    %237 = stablehlo.subtract %236, %235 : tensor<f32>
    %238 = stablehlo.broadcast_in_dim %237, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %239 = stablehlo.multiply %arg1, %238 : tensor<4xf32>
    %240 = stablehlo.sqrt %233 : tensor<4xf32>
    %241 = stablehlo.broadcast_in_dim %198, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %242 = stablehlo.multiply %240, %241 : tensor<4xf32>
    %243 = stablehlo.constant dense<1.0e-08> : tensor<4xf32>
    %244 = stablehlo.add %242, %243 : tensor<4xf32>
    %245 = stablehlo.broadcast_in_dim %193, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %246 = stablehlo.multiply %245, %227 : tensor<4xf32>
    %247 = stablehlo.divide %246, %244 : tensor<4xf32>
    %248 = stablehlo.subtract %239, %247 : tensor<4xf32>
    // update: layer_norm.weight
    %249 = stablehlo.subtract %188#2, %arg8 : tensor<4xf32>
    %250 = stablehlo.constant dense<0.1> : tensor<4xf32>
    %251 = stablehlo.multiply %249, %250 : tensor<4xf32>
    %252 = stablehlo.add %arg8, %251 : tensor<4xf32>
    %253 = stablehlo.multiply %188#2, %188#2 : tensor<4xf32>
    %254 = stablehlo.constant dense<0.001> : tensor<4xf32>
    %255 = stablehlo.multiply %253, %254 : tensor<4xf32>
    %256 = stablehlo.constant dense<0.999> : tensor<4xf32>
    %257 = stablehlo.multiply %arg14, %256 : tensor<4xf32>
    %258 = stablehlo.add %257, %255 : tensor<4xf32>
    %259 = stablehlo.constant dense<0.1> : tensor<f32>
    %260 = stablehlo.multiply %arg19, %259 : tensor<f32>
    %261 = stablehlo.constant dense<1.0> : tensor<f32>
    %262 = stablehlo.subtract %261, %260 : tensor<f32>
    %263 = stablehlo.broadcast_in_dim %262, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %264 = stablehlo.multiply %arg2, %263 : tensor<4xf32>
    %265 = stablehlo.sqrt %258 : tensor<4xf32>
    %266 = stablehlo.broadcast_in_dim %198, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %267 = stablehlo.multiply %265, %266 : tensor<4xf32>
    %268 = stablehlo.constant dense<1.0e-08> : tensor<4xf32>
    %269 = stablehlo.add %267, %268 : tensor<4xf32>
    %270 = stablehlo.broadcast_in_dim %193, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %271 = stablehlo.multiply %270, %252 : tensor<4xf32>
    %272 = stablehlo.divide %271, %269 : tensor<4xf32>
    %273 = stablehlo.subtract %264, %272 : tensor<4xf32>
    // update: layer_norm.bias
    %274 = stablehlo.subtract %188#3, %arg9 : tensor<4xf32>
    %275 = stablehlo.constant dense<0.1> : tensor<4xf32>
    %276 = stablehlo.multiply %274, %275 : tensor<4xf32>
    %277 = stablehlo.add %arg9, %276 : tensor<4xf32>
    %278 = stablehlo.multiply %188#3, %188#3 : tensor<4xf32>
    %279 = stablehlo.constant dense<0.001> : tensor<4xf32>
    %280 = stablehlo.multiply %278, %279 : tensor<4xf32>
    %281 = stablehlo.constant dense<0.999> : tensor<4xf32>
    %282 = stablehlo.multiply %arg15, %281 : tensor<4xf32>
    %283 = stablehlo.add %282, %280 : tensor<4xf32>
    %284 = stablehlo.constant dense<0.1> : tensor<f32>
    %285 = stablehlo.multiply %arg19, %284 : tensor<f32>
    %286 = stablehlo.constant dense<1.0> : tensor<f32>
    %287 = stablehlo.subtract %286, %285 : tensor<f32>
    %288 = stablehlo.broadcast_in_dim %287, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %289 = stablehlo.multiply %arg3, %288 : tensor<4xf32>
    %290 = stablehlo.sqrt %283 : tensor<4xf32>
    %291 = stablehlo.broadcast_in_dim %198, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %292 = stablehlo.multiply %290, %291 : tensor<4xf32>
    %293 = stablehlo.constant dense<1.0e-08> : tensor<4xf32>
    %294 = stablehlo.add %292, %293 : tensor<4xf32>
    %295 = stablehlo.broadcast_in_dim %193, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %296 = stablehlo.multiply %295, %277 : tensor<4xf32>
    %297 = stablehlo.divide %296, %294 : tensor<4xf32>
    %298 = stablehlo.subtract %289, %297 : tensor<4xf32>
    // update: dense_1.weight
    %299 = stablehlo.subtract %188#4, %arg10 : tensor<2x4xf32>
    %300 = stablehlo.constant dense<0.1> : tensor<2x4xf32>
    %301 = stablehlo.multiply %299, %300 : tensor<2x4xf32>
    %302 = stablehlo.add %arg10, %301 : tensor<2x4xf32>
    %303 = stablehlo.multiply %188#4, %188#4 : tensor<2x4xf32>
    %304 = stablehlo.constant dense<0.001> : tensor<2x4xf32>
    %305 = stablehlo.multiply %303, %304 : tensor<2x4xf32>
    %306 = stablehlo.constant dense<0.999> : tensor<2x4xf32>
    %307 = stablehlo.multiply %arg16, %306 : tensor<2x4xf32>
    %308 = stablehlo.add %307, %305 : tensor<2x4xf32>
    %309 = stablehlo.constant dense<0.1> : tensor<f32>
    %310 = stablehlo.multiply %arg19, %309 : tensor<f32>
    %311 = stablehlo.constant dense<1.0> : tensor<f32>
    %312 = stablehlo.subtract %311, %310 : tensor<f32>
    %313 = stablehlo.broadcast_in_dim %312, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %314 = stablehlo.multiply %arg4, %313 : tensor<2x4xf32>
    %315 = stablehlo.sqrt %308 : tensor<2x4xf32>
    %316 = stablehlo.broadcast_in_dim %198, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %317 = stablehlo.multiply %315, %316 : tensor<2x4xf32>
    %318 = stablehlo.constant dense<1.0e-08> : tensor<2x4xf32>
    %319 = stablehlo.add %317, %318 : tensor<2x4xf32>
    %320 = stablehlo.broadcast_in_dim %193, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %321 = stablehlo.multiply %320, %302 : tensor<2x4xf32>
    %322 = stablehlo.divide %321, %319 : tensor<2x4xf32>
    %323 = stablehlo.subtract %314, %322 : tensor<2x4xf32>
    // update: dense_1.bias
    %324 = stablehlo.subtract %188#5, %arg11 : tensor<2xf32>
    %325 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %326 = stablehlo.multiply %324, %325 : tensor<2xf32>
    %327 = stablehlo.add %arg11, %326 : tensor<2xf32>
    %328 = stablehlo.multiply %188#5, %188#5 : tensor<2xf32>
    %329 = stablehlo.constant dense<0.001> : tensor<2xf32>
    %330 = stablehlo.multiply %328, %329 : tensor<2xf32>
    %331 = stablehlo.constant dense<0.999> : tensor<2xf32>
    %332 = stablehlo.multiply %arg17, %331 : tensor<2xf32>
    %333 = stablehlo.add %332, %330 : tensor<2xf32>
    %334 = stablehlo.constant dense<0.1> : tensor<f32>
    %335 = stablehlo.multiply %arg19, %334 : tensor<f32>
    %336 = stablehlo.constant dense<1.0> : tensor<f32>
    %337 = stablehlo.subtract %336, %335 : tensor<f32>
    %338 = stablehlo.broadcast_in_dim %337, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %339 = stablehlo.multiply %arg5, %338 : tensor<2xf32>
    %340 = stablehlo.sqrt %333 : tensor<2xf32>
    %341 = stablehlo.broadcast_in_dim %198, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %342 = stablehlo.multiply %340, %341 : tensor<2xf32>
    %343 = stablehlo.constant dense<1.0e-08> : tensor<2xf32>
    %344 = stablehlo.add %342, %343 : tensor<2xf32>
    %345 = stablehlo.broadcast_in_dim %193, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %346 = stablehlo.multiply %345, %327 : tensor<2xf32>
    %347 = stablehlo.divide %346, %344 : tensor<2xf32>
    %348 = stablehlo.subtract %339, %347 : tensor<2xf32>
    return %223, %248, %273, %298, %323, %348, %202, %227, %252, %277, %302, %327, %208, %233, %258, %283, %308, %333, %188#6 : tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<6xf32>
  }
}
