module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%arg0: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<4xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<4xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<3x4xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<3xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<4xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<4xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<4x4xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<4xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<4xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<4xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<3x4xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<3xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<5xf32>, %arg15: tensor<5xf32>, %arg16: tensor<5xf32>, %arg17: tensor<5x2xui32>, %arg18: tensor<100x1x2x2xui8>, %arg19: tensor<100xi32>, %arg20: tensor<5x4xi32>, %arg21: tensor<5x4xf32>, %arg22: tensor<i32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<5x3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: batch_norm.weight
    // %arg3: batch_norm.bias
    // %arg4: dense_1.weight
    // %arg5: dense_1.bias
    // %arg6: batch_norm.running_mean
    // %arg7: batch_norm.running_var
    // %arg8: optimizer.momentum.dense.weight
    // %arg9: optimizer.momentum.dense.bias
    // %arg10: optimizer.momentum.batch_norm.weight
    // %arg11: optimizer.momentum.batch_norm.bias
    // %arg12: optimizer.momentum.dense_1.weight
    // %arg13: optimizer.momentum.dense_1.bias
    // %arg14: step
    // %arg15: learning_rate
    // %arg16: examples
    // %arg17: seed
    // %arg18: stored_inputs
    // %arg19: stored_targets
    // %arg20: rows
    // %arg21: weights
    // %arg22: count
    %0 = stablehlo.constant dense<0.0> : tensor<5x3xf32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2:16 = "stablehlo.while"(%1, %arg0, %arg8, %arg1, %arg9, %arg2, %arg10, %arg3, %arg11, %arg4, %arg12, %arg5, %arg13, %arg6, %arg7, %0) ({
      ^bb0(%3: tensor<i32>, %4: tensor<4x4xf32>, %5: tensor<4x4xf32>, %6: tensor<4xf32>, %7: tensor<4xf32>, %8: tensor<4xf32>, %9: tensor<4xf32>, %10: tensor<4xf32>, %11: tensor<4xf32>, %12: tensor<3x4xf32>, %13: tensor<3x4xf32>, %14: tensor<3xf32>, %15: tensor<3xf32>, %16: tensor<4xf32>, %17: tensor<4xf32>, %18: tensor<5x3xf32>):
    %19 = stablehlo.compare LT, %3, %arg22, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %19 : tensor<i1>
    }, {
      ^bb0(%20: tensor<i32>, %21: tensor<4x4xf32>, %22: tensor<4x4xf32>, %23: tensor<4xf32>, %24: tensor<4xf32>, %25: tensor<4xf32>, %26: tensor<4xf32>, %27: tensor<4xf32>, %28: tensor<4xf32>, %29: tensor<3x4xf32>, %30: tensor<3x4xf32>, %31: tensor<3xf32>, %32: tensor<3xf32>, %33: tensor<4xf32>, %34: tensor<4xf32>, %35: tensor<5x3xf32>):
    %36 = stablehlo.constant dense<0> : tensor<i32>
    %37 = stablehlo.dynamic_slice %arg16, %20, sizes = [1] : (tensor<5xf32>, tensor<i32>) -> tensor<1xf32>
    %38 = stablehlo.reshape %37 : (tensor<1xf32>) -> tensor<f32>
    %39 = stablehlo.constant dense<0> : tensor<i32>
    %40 = stablehlo.dynamic_slice %arg15, %20, sizes = [1] : (tensor<5xf32>, tensor<i32>) -> tensor<1xf32>
    %41 = stablehlo.reshape %40 : (tensor<1xf32>) -> tensor<f32>
    %42 = stablehlo.constant dense<0> : tensor<i32>
    %43 = stablehlo.dynamic_slice %arg20, %20, %42, sizes = [1, 4] : (tensor<5x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
    %44 = stablehlo.reshape %43 : (tensor<1x4xi32>) -> tensor<4xi32>
    %45 = stablehlo.constant dense<0> : tensor<i32>
    %46 = stablehlo.dynamic_slice %arg17, %20, %45, sizes = [1, 2] : (tensor<5x2xui32>, tensor<i32>, tensor<i32>) -> tensor<1x2xui32>
    %47 = stablehlo.reshape %46 : (tensor<1x2xui32>) -> tensor<2xui32>
    %48 = stablehlo.constant dense<0> : tensor<i32>
    %49 = stablehlo.dynamic_slice %arg14, %20, sizes = [1] : (tensor<5xf32>, tensor<i32>) -> tensor<1xf32>
    %50 = stablehlo.reshape %49 : (tensor<1xf32>) -> tensor<f32>
    %51 = stablehlo.constant dense<0> : tensor<i32>
    %52 = stablehlo.dynamic_slice %arg21, %20, %51, sizes = [1, 4] : (tensor<5x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %53 = stablehlo.reshape %52 : (tensor<1x4xf32>) -> tensor<4xf32>
    // the batch, of the examples that stay here
    %54 = "stablehlo.gather"(%arg18, %44) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 2, 2>, indices_are_sorted = false} : (tensor<100x1x2x2xui8>, tensor<4xi32>) -> tensor<4x1x2x2xui8>
    %55 = "stablehlo.gather"(%arg19, %44) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false} : (tensor<100xi32>, tensor<4xi32>) -> tensor<4xi32>
    %56 = stablehlo.reshape %47 : (tensor<2xui32>) -> tensor<1x2xui32>
    %57 = stablehlo.bitcast_convert %56 : (tensor<1x2xui32>) -> tensor<1xui64>
    %58 = stablehlo.replica_id : tensor<ui32>
    %59 = stablehlo.convert %58 : (tensor<ui32>) -> tensor<ui64>
    %60 = stablehlo.reshape %59 : (tensor<ui64>) -> tensor<1xui64>
    %61 = stablehlo.constant dense<4503599627370496> : tensor<1xui64>
    %62 = stablehlo.multiply %60, %61 : tensor<1xui64>
    %63 = stablehlo.convert %54 : (tensor<4x1x2x2xui8>) -> tensor<4x1x2x2xf32>
    %64 = stablehlo.constant dense<255.0> : tensor<4x1x2x2xf32>
    %65 = stablehlo.divide %63, %64 : tensor<4x1x2x2xf32>
    %66 = stablehlo.constant dense<0.0> : tensor<4x1x2x2xf32>
    %67 = stablehlo.subtract %65, %66 : tensor<4x1x2x2xf32>
    %68 = stablehlo.constant dense<1.0> : tensor<4x1x2x2xf32>
    %69 = stablehlo.divide %67, %68 : tensor<4x1x2x2xf32>
    // forward: flatten [4]
    %70 = stablehlo.reshape %69 : (tensor<4x1x2x2xf32>) -> tensor<4x4xf32>
    // forward: dense [4]
    %71 = stablehlo.dot_general %70, %21, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %72 = stablehlo.broadcast_in_dim %23, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %73 = stablehlo.add %71, %72 : tensor<4x4xf32>
    // forward: batch_norm [4]
    %74 = stablehlo.broadcast_in_dim %53, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
    %75 = stablehlo.constant dense<0.0> : tensor<f32>
    %76 = stablehlo.reduce(%53 init: %75) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %77 = stablehlo.constant dense<1.0> : tensor<f32>
    %78 = stablehlo.multiply %76, %77 : tensor<f32>
    %79 = stablehlo.multiply %73, %74 : tensor<4x4xf32>
    %80 = stablehlo.constant dense<0.0> : tensor<f32>
    %81 = stablehlo.reduce(%79 init: %80) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %82 = stablehlo.constant dense<1.0> : tensor<f32>
    %83 = stablehlo.maximum %78, %82 : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %83, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %85 = stablehlo.divide %81, %84 : tensor<4xf32>
    %86 = stablehlo.broadcast_in_dim %85, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %87 = stablehlo.subtract %73, %86 : tensor<4x4xf32>
    %88 = stablehlo.multiply %87, %87 : tensor<4x4xf32>
    %89 = stablehlo.multiply %88, %74 : tensor<4x4xf32>
    %90 = stablehlo.constant dense<0.0> : tensor<f32>
    %91 = stablehlo.reduce(%89 init: %90) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %92 = stablehlo.broadcast_in_dim %83, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %93 = stablehlo.divide %91, %92 : tensor<4xf32>
    %94 = stablehlo.constant dense<0.0> : tensor<f32>
    %95 = stablehlo.compare GT, %78, %94, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %96 = stablehlo.subtract %85, %33 : tensor<4xf32>
    %97 = stablehlo.constant dense<0.01> : tensor<4xf32>
    %98 = stablehlo.multiply %96, %97 : tensor<4xf32>
    %99 = stablehlo.add %33, %98 : tensor<4xf32>
    %100 = stablehlo.select %95, %99, %33 : tensor<i1>, tensor<4xf32>
    %101 = stablehlo.subtract %93, %34 : tensor<4xf32>
    %102 = stablehlo.constant dense<0.01> : tensor<4xf32>
    %103 = stablehlo.multiply %101, %102 : tensor<4xf32>
    %104 = stablehlo.add %34, %103 : tensor<4xf32>
    %105 = stablehlo.select %95, %104, %34 : tensor<i1>, tensor<4xf32>
    %106 = stablehlo.constant dense<0.001> : tensor<4xf32>
    %107 = stablehlo.add %93, %106 : tensor<4xf32>
    %108 = stablehlo.rsqrt %107 : tensor<4xf32>
    %109 = stablehlo.broadcast_in_dim %85, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %110 = stablehlo.subtract %73, %109 : tensor<4x4xf32>
    %111 = stablehlo.broadcast_in_dim %108, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %112 = stablehlo.multiply %110, %111 : tensor<4x4xf32>
    %113 = stablehlo.broadcast_in_dim %25, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %114 = stablehlo.multiply %112, %113 : tensor<4x4xf32>
    %115 = stablehlo.broadcast_in_dim %27, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %116 = stablehlo.add %114, %115 : tensor<4x4xf32>
    // forward: dropout [4]
    %117 = stablehlo.constant dense<3298534883328> : tensor<1xui64>
    %118 = stablehlo.add %62, %117 : tensor<1xui64>
    %119 = stablehlo.concatenate %57, %118, dim = 0 : (tensor<1xui64>, tensor<1xui64>) -> tensor<2xui64>
    %120, %121 = stablehlo.rng_bit_generator %119, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x4xui32>)
    %122 = stablehlo.constant dense<2147483648> : tensor<4x4xui32>
    %123 = stablehlo.compare LT, %121, %122, UNSIGNED : (tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<4x4xi1>
    %124 = stablehlo.constant dense<2.0> : tensor<4x4xf32>
    %125 = stablehlo.multiply %116, %124 : tensor<4x4xf32>
    %126 = stablehlo.constant dense<0.0> : tensor<4x4xf32>
    %127 = stablehlo.select %123, %126, %125 : tensor<4x4xi1>, tensor<4x4xf32>
    // forward: dense [3]
    %128 = stablehlo.dot_general %127, %29, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<4x3xf32>
    %129 = stablehlo.broadcast_in_dim %31, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %130 = stablehlo.add %128, %129 : tensor<4x3xf32>
    // loss: cross_entropy
    %131 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %132 = stablehlo.reduce(%130 init: %131) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %133 = stablehlo.broadcast_in_dim %132, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %134 = stablehlo.subtract %130, %133 : tensor<4x3xf32>
    %135 = stablehlo.exponential %134 : tensor<4x3xf32>
    %136 = stablehlo.constant dense<0.0> : tensor<f32>
    %137 = stablehlo.reduce(%135 init: %136) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %138 = stablehlo.log %137 : tensor<4xf32>
    %139 = stablehlo.broadcast_in_dim %138, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %140 = stablehlo.subtract %134, %139 : tensor<4x3xf32>
    %141 = stablehlo.broadcast_in_dim %137, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %142 = stablehlo.divide %135, %141 : tensor<4x3xf32>
    %143 = stablehlo.iota dim = 1 : tensor<4x3xi32>
    %144 = stablehlo.broadcast_in_dim %132, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %145 = stablehlo.broadcast_in_dim %55, dims = [0] : (tensor<4xi32>) -> tensor<4x3xi32>
    %146 = stablehlo.compare EQ, %143, %145, SIGNED : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
    %147 = stablehlo.constant dense<0.0> : tensor<4x3xf32>
    %148 = stablehlo.select %146, %140, %147 : tensor<4x3xi1>, tensor<4x3xf32>
    %149 = stablehlo.constant dense<0.0> : tensor<f32>
    %150 = stablehlo.reduce(%148 init: %149) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %151 = stablehlo.negate %150 : tensor<4xf32>
    %152 = stablehlo.convert %146 : (tensor<4x3xi1>) -> tensor<4x3xf32>
    %153 = stablehlo.subtract %142, %152 : tensor<4x3xf32>
    %154 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %155 = stablehlo.compare GT, %53, %154, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %156 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %157 = stablehlo.compare NE, %130, %130, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %158 = stablehlo.compare EQ, %130, %144, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %159 = stablehlo.or %158, %157 : tensor<4x3xi1>
    %160 = stablehlo.constant dense<3> : tensor<4x3xi32>
    %161 = stablehlo.select %159, %143, %160 : tensor<4x3xi1>, tensor<4x3xi32>
    %162 = stablehlo.constant dense<2147483647> : tensor<i32>
    %163 = stablehlo.reduce(%161 init: %162) applies stablehlo.minimum across dimensions = [1] : (tensor<4x3xi32>, tensor<i32>) -> tensor<4xi32>
    %164 = stablehlo.compare EQ, %163, %55, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %165 = stablehlo.convert %164 : (tensor<4xi1>) -> tensor<4xf32>
    %166 = stablehlo.select %155, %151, %156 : tensor<4xi1>, tensor<4xf32>
    %167 = stablehlo.reshape %166 : (tensor<4xf32>) -> tensor<1x4xf32>
    %168 = stablehlo.select %155, %53, %156 : tensor<4xi1>, tensor<4xf32>
    %169 = stablehlo.reshape %168 : (tensor<4xf32>) -> tensor<1x4xf32>
    %170 = stablehlo.select %155, %165, %156 : tensor<4xi1>, tensor<4xf32>
    %171 = stablehlo.reshape %170 : (tensor<4xf32>) -> tensor<1x4xf32>
    %172 = stablehlo.concatenate %167, %169, %171, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
    %173 = stablehlo.broadcast_in_dim %38, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %174 = stablehlo.divide %53, %173 : tensor<4xf32>
    %175 = stablehlo.broadcast_in_dim %174, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %176 = stablehlo.multiply %153, %175 : tensor<4x3xf32>
    %177 = stablehlo.constant dense<0.0> : tensor<f32>
    %178 = stablehlo.reduce(%172 init: %177) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %179 = stablehlo.dot_general %176, %127, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %180 = stablehlo.constant dense<0.0> : tensor<f32>
    %181 = stablehlo.reduce(%176 init: %180) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
    %182 = stablehlo.dot_general %176, %29, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    // backward: dropout
    %183 = stablehlo.constant dense<2.0> : tensor<4x4xf32>
    %184 = stablehlo.multiply %182, %183 : tensor<4x4xf32>
    %185 = stablehlo.constant dense<0.0> : tensor<4x4xf32>
    %186 = stablehlo.select %123, %185, %184 : tensor<4x4xi1>, tensor<4x4xf32>
    // backward: batch_norm
    %187 = stablehlo.multiply %186, %112 : tensor<4x4xf32>
    %188 = stablehlo.constant dense<0.0> : tensor<f32>
    %189 = stablehlo.reduce(%187 init: %188) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %190 = stablehlo.constant dense<0.0> : tensor<f32>
    %191 = stablehlo.reduce(%186 init: %190) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %192 = stablehlo.broadcast_in_dim %83, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %193 = stablehlo.divide %191, %192 : tensor<4xf32>
    %194 = stablehlo.broadcast_in_dim %193, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %195 = stablehlo.subtract %186, %194 : tensor<4x4xf32>
    %196 = stablehlo.broadcast_in_dim %83, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %197 = stablehlo.divide %189, %196 : tensor<4xf32>
    %198 = stablehlo.broadcast_in_dim %197, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %199 = stablehlo.multiply %112, %198 : tensor<4x4xf32>
    %200 = stablehlo.subtract %195, %199 : tensor<4x4xf32>
    %201 = stablehlo.multiply %108, %25 : tensor<4xf32>
    %202 = stablehlo.broadcast_in_dim %201, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
    %203 = stablehlo.multiply %200, %202 : tensor<4x4xf32>
    %204 = stablehlo.multiply %203, %74 : tensor<4x4xf32>
    // backward: dense
    %205 = stablehlo.dot_general %204, %70, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %206 = stablehlo.constant dense<0.0> : tensor<f32>
    %207 = stablehlo.reduce(%204 init: %206) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    // the sums over all devices
    %211:7 = "stablehlo.all_reduce"(%205, %207, %189, %191, %179, %181, %178) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%208: tensor<f32>, %209: tensor<f32>):
        %210 = stablehlo.add %208, %209 : tensor<f32>
        stablehlo.return %210 : tensor<f32>
    }) : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    // update: dense.weight
    %212 = stablehlo.constant dense<0.9> : tensor<4x4xf32>
    %213 = stablehlo.multiply %22, %212 : tensor<4x4xf32>
    %214 = stablehlo.add %213, %211#0 : tensor<4x4xf32>
    %215 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %216 = stablehlo.multiply %215, %214 : tensor<4x4xf32>
    %217 = stablehlo.subtract %21, %216 : tensor<4x4xf32>
    // update: dense.bias
    %218 = stablehlo.constant dense<0.9> : tensor<4xf32>
    %219 = stablehlo.multiply %24, %218 : tensor<4xf32>
    %220 = stablehlo.add %219, %211#1 : tensor<4xf32>
    %221 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %222 = stablehlo.multiply %221, %220 : tensor<4xf32>
    %223 = stablehlo.subtract %23, %222 : tensor<4xf32>
    // update: batch_norm.weight
    %224 = stablehlo.constant dense<0.9> : tensor<4xf32>
    %225 = stablehlo.multiply %26, %224 : tensor<4xf32>
    %226 = stablehlo.add %225, %211#2 : tensor<4xf32>
    %227 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %228 = stablehlo.multiply %227, %226 : tensor<4xf32>
    %229 = stablehlo.subtract %25, %228 : tensor<4xf32>
    // update: batch_norm.bias
    %230 = stablehlo.constant dense<0.9> : tensor<4xf32>
    %231 = stablehlo.multiply %28, %230 : tensor<4xf32>
    %232 = stablehlo.add %231, %211#3 : tensor<4xf32>
    %233 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %234 = stablehlo.multiply %233, %232 : tensor<4xf32>
    %235 = stablehlo.subtract %27, %234 : tensor<4xf32>
    // update: dense_1.weight
    %236 = stablehlo.constant dense<0.9> : tensor<3x4xf32>
    %237 = stablehlo.multiply %30, %236 : tensor<3x4xf32>
    %238 = stablehlo.add %237, %211#4 : tensor<3x4xf32>
    %239 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %240 = stablehlo.multiply %239, %238 : tensor<3x4xf32>
    %241 = stablehlo.subtract %29, %240 : tensor<3x4xf32>
    // update: dense_1.bias
    %242 = stablehlo.constant dense<0.9> : tensor<3xf32>
    %243 = stablehlo.multiply %32, %242 : tensor<3xf32>
    %244 = stablehlo.add %243, %211#5 : tensor<3xf32>
    %245 = stablehlo.broadcast_in_dim %41, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %246 = stablehlo.multiply %245, %244 : tensor<3xf32>
    %247 = stablehlo.subtract %31, %246 : tensor<3xf32>
    %248 = stablehlo.reshape %211#6 : (tensor<3xf32>) -> tensor<1x3xf32>
    %249 = stablehlo.constant dense<0> : tensor<i32>
    %250 = stablehlo.dynamic_update_slice %35, %248, %20, %249 : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
    %251 = stablehlo.constant dense<1> : tensor<i32>
    %252 = stablehlo.add %20, %251 : tensor<i32>
    stablehlo.return %252, %217, %214, %223, %220, %229, %226, %235, %232, %241, %238, %247, %244, %100, %105, %250 : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5x3xf32>
    }) : (tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5x3xf32>) -> (tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5x3xf32>)
    return %2#1, %2#3, %2#5, %2#7, %2#9, %2#11, %2#13, %2#14, %2#2, %2#4, %2#6, %2#8, %2#10, %2#12, %2#15 : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<5x3xf32>
  }
}
