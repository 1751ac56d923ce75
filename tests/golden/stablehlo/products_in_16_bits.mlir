module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x1x3x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<3x2xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<3xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<2xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<2xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<f32>, %arg9: tensor<f32>, %arg10: tensor<f32>, %arg11: tensor<2xui32>, %arg12: tensor<2x1x4x4xf32>, %arg13: tensor<2xi32>, %arg14: tensor<2xf32>) -> (tensor<2x1x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>) {
    // %arg0: first.weight
    // %arg1: first.bias
    // %arg2: batch_norm.weight
    // %arg3: batch_norm.bias
    // %arg4: dense.weight
    // %arg5: dense.bias
    // %arg6: batch_norm.running_mean
    // %arg7: batch_norm.running_var
    // %arg8: step
    // %arg9: learning_rate
    // %arg10: examples
    // %arg11: seed
    // %arg12: inputs
    // %arg13: targets
    // %arg14: weights
    // forward: conv2d [2, 2, 2]
    %0 = stablehlo.convert %arg12 : (tensor<2x1x4x4xf32>) -> tensor<2x1x4x4xbf16>
    %1 = stablehlo.convert %arg0 : (tensor<2x1x3x3xf32>) -> tensor<2x1x3x3xbf16>
    %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x1x4x4xbf16>, tensor<2x1x3x3xbf16>) -> tensor<2x2x2x2xf32>
    %3 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %4 = stablehlo.add %2, %3 : tensor<2x2x2x2xf32>
    %5 = stablehlo.convert %4 : (tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xbf16>
    // forward: batch_norm [2, 2, 2]
    %6 = stablehlo.convert %5 : (tensor<2x2x2x2xbf16>) -> tensor<2x2x2x2xf32>
    %7 = stablehlo.broadcast_in_dim %arg14, dims = [0] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %8 = stablehlo.constant dense<0.0> : tensor<f32>
    %9 = stablehlo.reduce(%arg14 init: %8) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %10 = stablehlo.constant dense<4.0> : tensor<f32>
    %11 = stablehlo.multiply %9, %10 : tensor<f32>
    %12 = stablehlo.multiply %6, %7 : tensor<2x2x2x2xf32>
    %13 = stablehlo.constant dense<0.0> : tensor<f32>
    %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %15 = stablehlo.constant dense<1.0> : tensor<f32>
    %16 = stablehlo.maximum %11, %15 : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %18 = stablehlo.divide %14, %17 : tensor<2xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %20 = stablehlo.subtract %6, %19 : tensor<2x2x2x2xf32>
    %21 = stablehlo.multiply %20, %20 : tensor<2x2x2x2xf32>
    %22 = stablehlo.multiply %21, %7 : tensor<2x2x2x2xf32>
    %23 = stablehlo.constant dense<0.0> : tensor<f32>
    %24 = stablehlo.reduce(%22 init: %23) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %25 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %26 = stablehlo.divide %24, %25 : tensor<2xf32>
    %27 = stablehlo.constant dense<0.0> : tensor<f32>
    %28 = stablehlo.compare GT, %11, %27, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %29 = stablehlo.subtract %18, %arg6 : tensor<2xf32>
    %30 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %31 = stablehlo.multiply %29, %30 : tensor<2xf32>
    %32 = stablehlo.add %arg6, %31 : tensor<2xf32>
    %33 = stablehlo.select %28, %32, %arg6 : tensor<i1>, tensor<2xf32>
    %34 = stablehlo.subtract %26, %arg7 : tensor<2xf32>
    %35 = stablehlo.constant dense<0.01> : tensor<2xf32>
    %36 = stablehlo.multiply %34, %35 : tensor<2xf32>
    %37 = stablehlo.add %arg7, %36 : tensor<2xf32>
    %38 = stablehlo.select %28, %37, %arg7 : tensor<i1>, tensor<2xf32>
    %39 = stablehlo.constant dense<0.001> : tensor<2xf32>
    %40 = stablehlo.add %26, %39 : tensor<2xf32>
    %41 = stablehlo.rsqrt %40 : tensor<2xf32>
    %42 = stablehlo.broadcast_in_dim %18, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %43 = stablehlo.subtract %6, %42 : tensor<2x2x2x2xf32>
    %44 = stablehlo.broadcast_in_dim %41, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %45 = stablehlo.multiply %43, %44 : tensor<2x2x2x2xf32>
    %46 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %47 = stablehlo.multiply %45, %46 : tensor<2x2x2x2xf32>
    %48 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %49 = stablehlo.add %47, %48 : tensor<2x2x2x2xf32>
    %50 = stablehlo.convert %49 : (tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xbf16>
    // forward: relu [2, 2, 2]
    %51 = stablehlo.constant dense<0.0> : tensor<2x2x2x2xbf16>
    %52 = stablehlo.maximum %50, %51 : tensor<2x2x2x2xbf16>
    // forward: max_pool2d [2, 1, 1]
    %53 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %57 = "stablehlo.reduce_window"(%52, %53) <{padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
      ^bb0(%54: tensor<bf16>, %55: tensor<bf16>):
        %56 = stablehlo.maximum %54, %55 : tensor<bf16>
        stablehlo.return %56 : tensor<bf16>
    }) : (tensor<2x2x2x2xbf16>, tensor<bf16>) -> tensor<2x2x1x1xbf16>
    // forward: flatten [2]
    %58 = stablehlo.reshape %57 : (tensor<2x2x1x1xbf16>) -> tensor<2x2xbf16>
    // forward: dense [3]
    %59 = stablehlo.convert %arg4 : (tensor<3x2xf32>) -> tensor<3x2xbf16>
    %60 = stablehlo.dot_general %58, %59, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x2xbf16>, tensor<3x2xbf16>) -> tensor<2x3xf32>
    %61 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %62 = stablehlo.add %60, %61 : tensor<2x3xf32>
    %63 = stablehlo.convert %62 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    // loss: cross_entropy
    %64 = stablehlo.convert %63 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    %65 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %66 = stablehlo.reduce(%64 init: %65) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %68 = stablehlo.subtract %64, %67 : tensor<2x3xf32>
    %69 = stablehlo.exponential %68 : tensor<2x3xf32>
    %70 = stablehlo.constant dense<0.0> : tensor<f32>
    %71 = stablehlo.reduce(%69 init: %70) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %72 = stablehlo.log %71 : tensor<2xf32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %74 = stablehlo.subtract %68, %73 : tensor<2x3xf32>
    %75 = stablehlo.broadcast_in_dim %71, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %76 = stablehlo.divide %69, %75 : tensor<2x3xf32>
    %77 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %78 = stablehlo.broadcast_in_dim %66, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %79 = stablehlo.broadcast_in_dim %arg13, dims = [0] : (tensor<2xi32>) -> tensor<2x3xi32>
    %80 = stablehlo.compare EQ, %77, %79, SIGNED : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %81 = stablehlo.constant dense<0.0> : tensor<2x3xf32>
    %82 = stablehlo.select %80, %74, %81 : tensor<2x3xi1>, tensor<2x3xf32>
    %83 = stablehlo.constant dense<0.0> : tensor<f32>
    %84 = stablehlo.reduce(%82 init: %83) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %85 = stablehlo.negate %84 : tensor<2xf32>
    %86 = stablehlo.convert %80 : (tensor<2x3xi1>) -> tensor<2x3xf32>
    %87 = stablehlo.subtract %76, %86 : tensor<2x3xf32>
    %88 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %89 = stablehlo.compare GT, %arg14, %88, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %90 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %91 = stablehlo.compare NE, %64, %64, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %92 = stablehlo.compare EQ, %64, %78, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %93 = stablehlo.or %92, %91 : tensor<2x3xi1>
    %94 = stablehlo.constant dense<3> : tensor<2x3xi32>
    %95 = stablehlo.select %93, %77, %94 : tensor<2x3xi1>, tensor<2x3xi32>
    %96 = stablehlo.constant dense<2147483647> : tensor<i32>
    %97 = stablehlo.reduce(%95 init: %96) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    %98 = stablehlo.compare EQ, %97, %arg13, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %99 = stablehlo.convert %98 : (tensor<2xi1>) -> tensor<2xf32>
    %100 = stablehlo.select %89, %85, %90 : tensor<2xi1>, tensor<2xf32>
    %101 = stablehlo.reshape %100 : (tensor<2xf32>) -> tensor<1x2xf32>
    %102 = stablehlo.select %89, %arg14, %90 : tensor<2xi1>, tensor<2xf32>
    %103 = stablehlo.reshape %102 : (tensor<2xf32>) -> tensor<1x2xf32>
    %104 = stablehlo.select %89, %99, %90 : tensor<2xi1>, tensor<2xf32>
    %105 = stablehlo.reshape %104 : (tensor<2xf32>) -> tensor<1x2xf32>
    %106 = stablehlo.concatenate %101, %103, %105, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %107 = stablehlo.broadcast_in_dim %arg10, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %108 = stablehlo.divide %arg14, %107 : tensor<2xf32>
    %109 = stablehlo.broadcast_in_dim %108, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %110 = stablehlo.multiply %87, %109 : tensor<2x3xf32>
    %111 = stablehlo.constant dense<0.0> : tensor<f32>
    %112 = stablehlo.reduce(%106 init: %111) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    %113 = stablehlo.convert %110 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    // backward: dense
    %114 = stablehlo.dot_general %113, %58, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xbf16>, tensor<2x2xbf16>) -> tensor<3x2xf32>
    %115 = stablehlo.convert %113 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    %116 = stablehlo.constant dense<0.0> : tensor<f32>
    %117 = stablehlo.reduce(%115 init: %116) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    %118 = stablehlo.dot_general %113, %59, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xf32>
    %119 = stablehlo.convert %118 : (tensor<2x2xf32>) -> tensor<2x2xbf16>
    // backward: flatten
    %120 = stablehlo.reshape %119 : (tensor<2x2xbf16>) -> tensor<2x2x1x1xbf16>
    // backward: max_pool2d
    %121 = stablehlo.constant dense<0.0> : tensor<bf16>
    %128 = "stablehlo.select_and_scatter"(%52, %120, %121) <{padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
      ^bb0(%122: tensor<bf16>, %123: tensor<bf16>):
        %124 = stablehlo.compare GE, %122, %123, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
        stablehlo.return %124 : tensor<i1>
    }, {
      ^bb0(%125: tensor<bf16>, %126: tensor<bf16>):
        %127 = stablehlo.add %125, %126 : tensor<bf16>
        stablehlo.return %127 : tensor<bf16>
    }) : (tensor<2x2x2x2xbf16>, tensor<2x2x1x1xbf16>, tensor<bf16>) -> tensor<2x2x2x2xbf16>
    // backward: relu
    %129 = stablehlo.constant dense<0.0> : tensor<2x2x2x2xbf16>
    %130 = stablehlo.compare LE, %52, %129, FLOAT : (tensor<2x2x2x2xbf16>, tensor<2x2x2x2xbf16>) -> tensor<2x2x2x2xi1>
    %131 = stablehlo.constant dense<0.0> : tensor<2x2x2x2xbf16>
    %132 = stablehlo.select %130, %131, %128 : tensor<2x2x2x2xi1>, tensor<2x2x2x2xbf16>
    // backward: batch_norm
    %133 = stablehlo.convert %132 : (tensor<2x2x2x2xbf16>) -> tensor<2x2x2x2xf32>
    %134 = stablehlo.multiply %133, %45 : tensor<2x2x2x2xf32>
    %135 = stablehlo.constant dense<0.0> : tensor<f32>
    %136 = stablehlo.reduce(%134 init: %135) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %137 = stablehlo.constant dense<0.0> : tensor<f32>
    %138 = stablehlo.reduce(%133 init: %137) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %139 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %140 = stablehlo.divide %138, %139 : tensor<2xf32>
    %141 = stablehlo.broadcast_in_dim %140, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %142 = stablehlo.subtract %133, %141 : tensor<2x2x2x2xf32>
    %143 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %144 = stablehlo.divide %136, %143 : tensor<2xf32>
    %145 = stablehlo.broadcast_in_dim %144, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %146 = stablehlo.multiply %45, %145 : tensor<2x2x2x2xf32>
    %147 = stablehlo.subtract %142, %146 : tensor<2x2x2x2xf32>
    %148 = stablehlo.multiply %41, %arg2 : tensor<2xf32>
    %149 = stablehlo.broadcast_in_dim %148, dims = [1] : (tensor<2xf32>) -> tensor<2x2x2x2xf32>
    %150 = stablehlo.multiply %147, %149 : tensor<2x2x2x2xf32>
    %151 = stablehlo.multiply %150, %7 : tensor<2x2x2x2xf32>
    %152 = stablehlo.convert %151 : (tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xbf16>
    // backward: conv2d
    %153 = stablehlo.constant dense<0.0> : tensor<bf16>
    %154 = stablehlo.pad %0, %153, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<2x1x4x4xbf16>, tensor<bf16>) -> tensor<2x1x4x4xbf16>
    %155 = stablehlo.slice %154 [0:2, 0:1, 0:2, 0:2] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %156 = stablehlo.slice %154 [0:2, 0:1, 0:2, 1:3] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %157 = stablehlo.slice %154 [0:2, 0:1, 0:2, 2:4] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %158 = stablehlo.slice %154 [0:2, 0:1, 1:3, 0:2] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %159 = stablehlo.slice %154 [0:2, 0:1, 1:3, 1:3] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %160 = stablehlo.slice %154 [0:2, 0:1, 1:3, 2:4] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %161 = stablehlo.slice %154 [0:2, 0:1, 2:4, 0:2] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %162 = stablehlo.slice %154 [0:2, 0:1, 2:4, 1:3] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %163 = stablehlo.slice %154 [0:2, 0:1, 2:4, 2:4] : (tensor<2x1x4x4xbf16>) -> tensor<2x1x2x2xbf16>
    %164 = stablehlo.concatenate %155, %156, %157, %158, %159, %160, %161, %162, %163, dim = 1 : (tensor<2x1x2x2xbf16>, tensor<2x1x2x2xbf16>, tensor<2x1x2x2xbf16>, tensor<2x1x2x2xbf16>, tensor<2x1x2x2xbf16>, tensor<2x1x2x2xbf16>, tensor<2x1x2x2xbf16>, tensor<2x1x2x2xbf16>, tensor<2x1x2x2xbf16>) -> tensor<2x9x2x2xbf16>
    %165 = stablehlo.transpose %164, dims = [1, 0, 2, 3] : (tensor<2x9x2x2xbf16>) -> tensor<9x2x2x2xbf16>
    %166 = stablehlo.reshape %165 : (tensor<9x2x2x2xbf16>) -> tensor<9x8xbf16>
    %167 = stablehlo.transpose %152, dims = [1, 0, 2, 3] : (tensor<2x2x2x2xbf16>) -> tensor<2x2x2x2xbf16>
    %168 = stablehlo.reshape %167 : (tensor<2x2x2x2xbf16>) -> tensor<2x8xbf16>
    %169 = stablehlo.dot_general %168, %166, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x8xbf16>, tensor<9x8xbf16>) -> tensor<2x9xf32>
    %170 = stablehlo.reshape %169 : (tensor<2x9xf32>) -> tensor<2x3x3x1xf32>
    %171 = stablehlo.transpose %170, dims = [0, 3, 1, 2] : (tensor<2x3x3x1xf32>) -> tensor<2x1x3x3xf32>
    %172 = stablehlo.convert %152 : (tensor<2x2x2x2xbf16>) -> tensor<2x2x2x2xf32>
    %173 = stablehlo.constant dense<0.0> : tensor<f32>
    %174 = stablehlo.reduce(%172 init: %173) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<2x2x2x2xf32>, tensor<f32>) -> tensor<2xf32>
    // update: first.weight
    %175 = stablehlo.broadcast_in_dim %arg9, dims = [] : (tensor<f32>) -> tensor<2x1x3x3xf32>
    %176 = stablehlo.multiply %175, %171 : tensor<2x1x3x3xf32>
    %177 = stablehlo.subtract %arg0, %176 : tensor<2x1x3x3xf32>
    // update: first.bias
    %178 = stablehlo.broadcast_in_dim %arg9, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %179 = stablehlo.multiply %178, %174 : tensor<2xf32>
    %180 = stablehlo.subtract %arg1, %179 : tensor<2xf32>
    // update: batch_norm.weight
    %181 = stablehlo.broadcast_in_dim %arg9, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %182 = stablehlo.multiply %181, %136 : tensor<2xf32>
    %183 = stablehlo.subtract %arg2, %182 : tensor<2xf32>
    // update: batch_norm.bias
    %184 = stablehlo.broadcast_in_dim %arg9, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %185 = stablehlo.multiply %184, %138 : tensor<2xf32>
    %186 = stablehlo.subtract %arg3, %185 : tensor<2xf32>
    // update: dense.weight
    %187 = stablehlo.broadcast_in_dim %arg9, dims = [] : (tensor<f32>) -> tensor<3x2xf32>
    %188 = stablehlo.multiply %187, %114 : tensor<3x2xf32>
    %189 = stablehlo.subtract %arg4, %188 : tensor<3x2xf32>
    // update: dense.bias
    %190 = stablehlo.broadcast_in_dim %arg9, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %191 = stablehlo.multiply %190, %117 : tensor<3xf32>
    %192 = stablehlo.subtract %arg5, %191 : tensor<3xf32>
    return %177, %180, %183, %186, %189, %192, %33, %38, %112 : tensor<2x1x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
