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
    %101 = stablehlo.reshape %100 : (tensor<2xf32>) -> tensor<1x2xf32>
    %102 = stablehlo.select %76, %arg24, %77 : tensor<2xi1>, tensor<2xf32>
    %103 = stablehlo.reshape %102 : (tensor<2xf32>) -> tensor<1x2xf32>
    %104 = stablehlo.select %76, %89, %77 : tensor<2xi1>, tensor<2xf32>
    %105 = stablehlo.reshape %104 : (tensor<2xf32>) -> tensor<1x2xf32>
    %106 = stablehlo.select %76, %93, %77 : tensor<2xi1>, tensor<2xf32>
    %107 = stablehlo.reshape %106 : (tensor<2xf32>) -> tensor<1x2xf32>
    %108 = stablehlo.select %76, %96, %77 : tensor<2xi1>, tensor<2xf32>
    %109 = stablehlo.reshape %108 : (tensor<2xf32>) -> tensor<1x2xf32>
    %110 = stablehlo.select %76, %99, %77 : tensor<2xi1>, tensor<2xf32>
    %111 = stablehlo.reshape %110 : (tensor<2xf32>) -> tensor<1x2xf32>
    %112 = stablehlo.concatenate %101, %103, %105, %107, %109, %111, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<6x2xf32>
    %113 = stablehlo.broadcast_in_dim %arg20, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %114 = stablehlo.divide %arg24, %113 : tensor<2xf32>
    %115 = stablehlo.broadcast_in_dim %114, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %116 = stablehlo.multiply %70, %115 : tensor<2x2xf32>
    %117 = stablehlo.constant dense<0.0> : tensor<f32>
    %118 = stablehlo.reduce(%112 init: %117) applies stablehlo.add across dimensions = [1] : (tensor<6x2xf32>, tensor<f32>) -> tensor<6xf32>
    // backward: dense
    %119 = stablehlo.dot_general %116, %54, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %120 = stablehlo.constant dense<0.0> : tensor<f32>
    %121 = stablehlo.reduce(%116 init: %120) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %122 = stablehlo.dot_general %116, %arg4, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    // backward: sigmoid
    %123 = stablehlo.constant dense<1.0> : tensor<2x4xf32>
    %124 = stablehlo.subtract %123, %54 : tensor<2x4xf32>
    %125 = stablehlo.multiply %54, %124 : tensor<2x4xf32>
    %126 = stablehlo.multiply %122, %125 : tensor<2x4xf32>
    // backward: tanh
    %127 = stablehlo.multiply %53, %53 : tensor<2x4xf32>
    %128 = stablehlo.constant dense<1.0> : tensor<2x4xf32>
    %129 = stablehlo.subtract %128, %127 : tensor<2x4xf32>
    %130 = stablehlo.multiply %126, %129 : tensor<2x4xf32>
    // backward: relu6
    %131 = stablehlo.compare LE, %52, %49, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %132 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %133 = stablehlo.select %131, %132, %130 : tensor<2x4xi1>, tensor<2x4xf32>
    %134 = stablehlo.compare GE, %52, %50, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %135 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %136 = stablehlo.select %134, %135, %133 : tensor<2x4xi1>, tensor<2x4xf32>
    // backward: dropout
    %137 = stablehlo.constant dense<2.0> : tensor<2x4xf32>
    %138 = stablehlo.multiply %136, %137 : tensor<2x4xf32>
    %139 = stablehlo.constant dense<0.0> : tensor<2x4xf32>
    %140 = stablehlo.select %44, %139, %138 : tensor<2x4xi1>, tensor<2x4xf32>
    // backward: gelu
    %141 = stablehlo.multiply %29, %29 : tensor<2x4xf32>
    %142 = stablehlo.constant dense<-0.5> : tensor<2x4xf32>
    %143 = stablehlo.multiply %141, %142 : tensor<2x4xf32>
    %144 = stablehlo.exponential %143 : tensor<2x4xf32>
    %145 = stablehlo.constant dense<0.3989423> : tensor<2x4xf32>
    %146 = stablehlo.multiply %144, %145 : tensor<2x4xf32>
    %147 = stablehlo.multiply %29, %146 : tensor<2x4xf32>
    %148 = stablehlo.add %36, %147 : tensor<2x4xf32>
    %149 = stablehlo.multiply %140, %148 : tensor<2x4xf32>
    // backward: layer_norm
    %150 = stablehlo.multiply %149, %25 : tensor<2x4xf32>
    %151 = stablehlo.constant dense<0.0> : tensor<f32>
    %152 = stablehlo.reduce(%150 init: %151) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %153 = stablehlo.constant dense<0.0> : tensor<f32>
    %154 = stablehlo.reduce(%149 init: %153) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %155 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %156 = stablehlo.multiply %149, %155 : tensor<2x4xf32>
    %157 = stablehlo.constant dense<0.0> : tensor<f32>
    %158 = stablehlo.reduce(%156 init: %157) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %159 = stablehlo.constant dense<4.0> : tensor<2xf32>
    %160 = stablehlo.divide %158, %159 : tensor<2xf32>
    %161 = stablehlo.broadcast_in_dim %160, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %162 = stablehlo.subtract %156, %161 : tensor<2x4xf32>
    %163 = stablehlo.multiply %156, %25 : tensor<2x4xf32>
    %164 = stablehlo.constant dense<0.0> : tensor<f32>
    %165 = stablehlo.reduce(%163 init: %164) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
    %166 = stablehlo.constant dense<4.0> : tensor<2xf32>
    %167 = stablehlo.divide %165, %166 : tensor<2xf32>
    %168 = stablehlo.broadcast_in_dim %167, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
    %169 = stablehlo.multiply %25, %168 : tensor<2x4xf32>
    %170 = stablehlo.subtract %162, %169 : tensor<2x4xf32>
    %171 = stablehlo.multiply %170, %24 : tensor<2x4xf32>
    // backward: dense
    %172 = stablehlo.dot_general %171, %arg22, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %173 = stablehlo.constant dense<0.0> : tensor<f32>
    %174 = stablehlo.reduce(%171 init: %173) applies stablehlo.add across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    // the sums over all devices
    %178:7 = "stablehlo.all_reduce"(%172, %174, %152, %154, %119, %121, %118) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%175: tensor<f32>, %176: tensor<f32>):
        %177 = stablehlo.add %175, %176 : tensor<f32>
        stablehlo.return %177 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<6xf32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<6xf32>)
    %179 = stablehlo.constant dense<-0.105360515> : tensor<f32>
    %180 = stablehlo.multiply %arg18, %179 : tensor<f32>
    %181 = stablehlo.exponential_minus_one %180 : tensor<f32>
    %182 = stablehlo.negate %181 : tensor<f32>
    %183 = stablehlo.divide %arg19, %182 : tensor<f32>
    %184 = stablehlo.constant dense<-0.0010005003> : tensor<f32>
    %185 = stablehlo.multiply %arg18, %184 : tensor<f32>
    %186 = stablehlo.exponential_minus_one %185 : tensor<f32>
    %187 = stablehlo.negate %186 : tensor<f32>
    %188 = stablehlo.rsqrt %187 : tensor<f32>
    // update: dense.weight
    %189 = stablehlo.subtract %178#0, %arg6 : tensor<4x3xf32>
    %190 = stablehlo.constant dense<0.1> : tensor<4x3xf32>
    %191 = stablehlo.multiply %189, %190 : tensor<4x3xf32>
    %192 = stablehlo.add %arg6, %191 : tensor<4x3xf32>
    %193 = stablehlo.multiply %178#0, %178#0 : tensor<4x3xf32>
    %194 = stablehlo.constant dense<0.001> : tensor<4x3xf32>
    %195 = stablehlo.multiply %193, %194 : tensor<4x3xf32>
    %196 = stablehlo.constant dense<0.999> : tensor<4x3xf32>
    %197 = stablehlo.multiply %arg12, %196 : tensor<4x3xf32>
    %198 = stablehlo.add %197, %195 : tensor<4x3xf32>
    %199 = stablehlo.constant dense<0.1> : tensor<f32>
    %200 = stablehlo.multiply %arg19, %199 : tensor<f32>
    %201 = stablehlo.constant dense<1.0> : tensor<f32>
    %202 = stablehlo.subtract %201, %200 : tensor<f32>
    %203 = stablehlo.broadcast_in_dim %202, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %204 = stablehlo.multiply %arg0, %203 : tensor<4x3xf32>
    %205 = stablehlo.sqrt %198 : tensor<4x3xf32>
    %206 = stablehlo.broadcast_in_dim %188, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %207 = stablehlo.multiply %205, %206 : tensor<4x3xf32>
    %208 = stablehlo.constant dense<1.0e-08> : tensor<4x3xf32>
    %209 = stablehlo.add %207, %208 : tensor<4x3xf32>
    %210 = stablehlo.broadcast_in_dim %183, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %211 = stablehlo.multiply %210, %192 : tensor<4x3xf32>
    %212 = stablehlo.divide %211, %209 : tensor<4x3xf32>
    %213 = stablehlo.subtract %204, %212 : tensor<4x3xf32>
    // update: dense.bias
    %214 = stablehlo.subtract %178#1, %arg7 : tensor<4xf32>
    %215 = stablehlo.constant dense<0.1> : tensor<4xf32>
    %216 = stablehlo.multiply %214, %215 : tensor<4xf32>
    %217 = stablehlo.add %arg7, %216 : tensor<4xf32>
    %218 = stablehlo.multiply %178#1, %178#1 : tensor<4xf32>
    %219 = stablehlo.constant dense<0.001> : tensor<4xf32>
    %220 = stablehlo.multiply %218, %219 : tensor<4xf32>
    %221 = stablehlo.constant dense<0.999> : tensor<4xf32>
    %222 = stablehlo.multiply %arg13, %221 : tensor<4xf32>
    %223 = stablehlo.add %222, %220 : tensor<4xf32>
    %224 = stablehlo.constant dense<0.1> : tensor<f32>
    %225 = stablehlo.multiply %arg19, %224 : tensor<f32>
    %226 = stablehlo.constant dense<1.0> : tensor<f32>
    %227 = stablehlo.subtract %226, %225 : tensor<f32>
    %228 = stablehlo.broadcast_in_dim %227, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %229 = stablehlo.multiply %arg1, %228 : tensor<4xf32>
    %230 = stablehlo.sqrt %223 : tensor<4xf32>
    %231 = stablehlo.broadcast_in_dim %188, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %232 = stablehlo.multiply %230, %231 : tensor<4xf32>
    %233 = stablehlo.constant dense<1.0e-08> : tensor<4xf32>
    %234 = stablehlo.add %232, %233 : tensor<4xf32>
    %235 = stablehlo.broadcast_in_dim %183, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %236 = stablehlo.multiply %235, %217 : tensor<4xf32>
    %237 = stablehlo.divide %236, %234 : tensor<4xf32>
    %238 = stablehlo.subtract %229, %237 : tensor<4xf32>
    // update: layer_norm.weight
    %239 = stablehlo.subtract %178#2, %arg8 : tensor<4xf32>
    %240 = stablehlo.constant dense<0.1> : tensor<4xf32>
    %241 = stablehlo.multiply %239, %240 : tensor<4xf32>
    %242 = stablehlo.add %arg8, %241 : tensor<4xf32>
    %243 = stablehlo.multiply %178#2, %178#2 : tensor<4xf32>
    %244 = stablehlo.constant dense<0.001> : tensor<4xf32>
    %245 = stablehlo.multiply %243, %244 : tensor<4xf32>
    %246 = stablehlo.constant dense<0.999> : tensor<4xf32>
    %247 = stablehlo.multiply %arg14, %246 : tensor<4xf32>
    %248 = stablehlo.add %247, %245 : tensor<4xf32>
    %249 = stablehlo.constant dense<0.1> : tensor<f32>
    %250 = stablehlo.multiply %arg19, %249 : tensor<f32>
    %251 = stablehlo.constant dense<1.0> : tensor<f32>
    %252 = stablehlo.subtract %251, %250 : tensor<f32>
    %253 = stablehlo.broadcast_in_dim %252, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %254 = stablehlo.multiply %arg2, %253 : tensor<4xf32>
    %255 = stablehlo.sqrt %248 : tensor<4xf32>
    %256 = stablehlo.broadcast_in_dim %188, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %257 = stablehlo.multiply %255, %256 : tensor<4xf32>
    %258 = stablehlo.constant dense<1.0e-08> : tensor<4xf32>
    %259 = stablehlo.add %257, %258 : tensor<4xf32>
    %260 = stablehlo.broadcast_in_dim %183, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %261 = stablehlo.multiply %260, %242 : tensor<4xf32>
    %262 = stablehlo.divide %261, %259 : tensor<4xf32>
    %263 = stablehlo.subtract %254, %262 : tensor<4xf32>
    // update: layer_norm.bias
    %264 = stablehlo.subtract %178#3, %arg9 : tensor<4xf32>
    %265 = stablehlo.constant dense<0.1> : tensor<4xf32>
    %266 = stablehlo.multiply %264, %265 : tensor<4xf32>
    %267 = stablehlo.add %arg9, %266 : tensor<4xf32>
    %268 = stablehlo.multiply %178#3, %178#3 : tensor<4xf32>
    %269 = stablehlo.constant dense<0.001> : tensor<4xf32>
    %270 = stablehlo.multiply %268, %269 : tensor<4xf32>
    %271 = stablehlo.constant dense<0.999> : tensor<4xf32>
    %272 = stablehlo.multiply %arg15, %271 : tensor<4xf32>
    %273 = stablehlo.add %272, %270 : tensor<4xf32>
    %274 = stablehlo.constant dense<0.1> : tensor<f32>
    %275 = stablehlo.multiply %arg19, %274 : tensor<f32>
    %276 = stablehlo.constant dense<1.0> : tensor<f32>
    %277 = stablehlo.subtract %276, %275 : tensor<f32>
    %278 = stablehlo.broadcast_in_dim %277, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %279 = stablehlo.multiply %arg3, %278 : tensor<4xf32>
    %280 = stablehlo.sqrt %273 : tensor<4xf32>
    %281 = stablehlo.broadcast_in_dim %188, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %282 = stablehlo.multiply %280, %281 : tensor<4xf32>
    %283 = stablehlo.constant dense<1.0e-08> : tensor<4xf32>
    %284 = stablehlo.add %282, %283 : tensor<4xf32>
    %285 = stablehlo.broadcast_in_dim %183, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %286 = stablehlo.multiply %285, %267 : tensor<4xf32>
    %287 = stablehlo.divide %286, %284 : tensor<4xf32>
    %288 = stablehlo.subtract %279, %287 : tensor<4xf32>
    // update: dense_1.weight
    %289 = stablehlo.subtract %178#4, %arg10 : tensor<2x4xf32>
    %290 = stablehlo.constant dense<0.1> : tensor<2x4xf32>
    %291 = stablehlo.multiply %289, %290 : tensor<2x4xf32>
    %292 = stablehlo.add %arg10, %291 : tensor<2x4xf32>
    %293 = stablehlo.multiply %178#4, %178#4 : tensor<2x4xf32>
    %294 = stablehlo.constant dense<0.001> : tensor<2x4xf32>
    %295 = stablehlo.multiply %293, %294 : tensor<2x4xf32>
    %296 = stablehlo.constant dense<0.999> : tensor<2x4xf32>
    %297 = stablehlo.multiply %arg16, %296 : tensor<2x4xf32>
    %298 = stablehlo.add %297, %295 : tensor<2x4xf32>
    %299 = stablehlo.constant dense<0.1> : tensor<f32>
    %300 = stablehlo.multiply %arg19, %299 : tensor<f32>
    %301 = stablehlo.constant dense<1.0> : tensor<f32>
    %302 = stablehlo.subtract %301, %300 : tensor<f32>
    %303 = stablehlo.broadcast_in_dim %302, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %304 = stablehlo.multiply %arg4, %303 : tensor<2x4xf32>
    %305 = stablehlo.sqrt %298 : tensor<2x4xf32>
    %306 = stablehlo.broadcast_in_dim %188, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %307 = stablehlo.multiply %305, %306 : tensor<2x4xf32>
    %308 = stablehlo.constant dense<1.0e-08> : tensor<2x4xf32>
    %309 = stablehlo.add %307, %308 : tensor<2x4xf32>
    %310 = stablehlo.broadcast_in_dim %183, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %311 = stablehlo.multiply %310, %292 : tensor<2x4xf32>
    %312 = stablehlo.divide %311, %309 : tensor<2x4xf32>
    %313 = stablehlo.subtract %304, %312 : tensor<2x4xf32>
    // update: dense_1.bias
    %314 = stablehlo.subtract %178#5, %arg11 : tensor<2xf32>
    %315 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %316 = stablehlo.multiply %314, %315 : tensor<2xf32>
    %317 = stablehlo.add %arg11, %316 : tensor<2xf32>
    %318 = stablehlo.multiply %178#5, %178#5 : tensor<2xf32>
    %319 = stablehlo.constant dense<0.001> : tensor<2xf32>
    %320 = stablehlo.multiply %318, %319 : tensor<2xf32>
    %321 = stablehlo.constant dense<0.999> : tensor<2xf32>
    %322 = stablehlo.multiply %arg17, %321 : tensor<2xf32>
    %323 = stablehlo.add %322, %320 : tensor<2xf32>
    %324 = stablehlo.constant dense<0.1> : tensor<f32>
    %325 = stablehlo.multiply %arg19, %324 : tensor<f32>
    %326 = stablehlo.constant dense<1.0> : tensor<f32>
    %327 = stablehlo.subtract %326, %325 : tensor<f32>
    %328 = stablehlo.broadcast_in_dim %327, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %329 = stablehlo.multiply %arg5, %328 : tensor<2xf32>
    %330 = stablehlo.sqrt %323 : tensor<2xf32>
    %331 = stablehlo.broadcast_in_dim %188, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %332 = stablehlo.multiply %330, %331 : tensor<2xf32>
    %333 = stablehlo.constant dense<1.0e-08> : tensor<2xf32>
    %334 = stablehlo.add %332, %333 : tensor<2xf32>
    %335 = stablehlo.broadcast_in_dim %183, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %336 = stablehlo.multiply %335, %317 : tensor<2xf32>
    %337 = stablehlo.divide %336, %334 : tensor<2xf32>
    %338 = stablehlo.subtract %329, %337 : tensor<2xf32>
    return %213, %238, %263, %288, %313, %338, %192, %217, %242, %267, %292, %317, %198, %223, %248, %273, %298, %323, %178#6 : tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<6xf32>
  }
}
