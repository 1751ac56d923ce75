module @training_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2x3xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<2xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<2x3xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<2xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>, %arg9: tensor<2xui32>, %arg10: tensor<2x3xf32>, %arg11: tensor<2xi32>, %arg12: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) {
    // %arg0: dense.weight
    // %arg1: dense.bias
    // %arg2: optimizer.average.dense.weight
    // %arg3: optimizer.average.dense.bias
    // %arg4: optimizer.square_average.dense.weight
    // %arg5: optimizer.square_average.dense.bias
    // %arg6: step
    // %arg7: learning_rate
    // %arg8: examples
    // %arg9: seed
    // %arg10: inputs
    // %arg11: targets
    // %arg12: weights
    // forward: dense [2]
    %0 = stablehlo.dot_general %arg10, %arg0, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x2xf32>
    // loss: cross_entropy
    %3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %6 = stablehlo.subtract %2, %5 : tensor<2x2xf32>
    %7 = stablehlo.exponential %6 : tensor<2x2xf32>
    %8 = stablehlo.constant dense<0.0> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %10 = stablehlo.log %9 : tensor<2xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<2x2xf32>
    %13 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %14 = stablehlo.divide %7, %13 : tensor<2x2xf32>
    %15 = stablehlo.iota dim = 1 : tensor<2x2xi32>
    %16 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %17 = stablehlo.broadcast_in_dim %arg11, dims = [0] : (tensor<2xi32>) -> tensor<2x2xi32>
    %18 = stablehlo.compare EQ, %15, %17, SIGNED : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>
    %19 = stablehlo.constant dense<0.0> : tensor<2x2xf32>
    %20 = stablehlo.select %18, %12, %19 : tensor<2x2xi1>, tensor<2x2xf32>
    %21 = stablehlo.constant dense<0.0> : tensor<f32>
    %22 = stablehlo.reduce(%20 init: %21) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %23 = stablehlo.negate %22 : tensor<2xf32>
    %24 = stablehlo.convert %18 : (tensor<2x2xi1>) -> tensor<2x2xf32>
    %25 = stablehlo.subtract %14, %24 : tensor<2x2xf32>
    %26 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %27 = stablehlo.compare GT, %arg12, %26, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %28 = stablehlo.constant dense<0.0> : tensor<2xf32>
    %29 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %30 = stablehlo.compare EQ, %2, %16, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %31 = stablehlo.or %30, %29 : tensor<2x2xi1>
    %32 = stablehlo.constant dense<2> : tensor<2x2xi32>
    %33 = stablehlo.select %31, %15, %32 : tensor<2x2xi1>, tensor<2x2xi32>
    %34 = stablehlo.constant dense<2147483647> : tensor<i32>
    %35 = stablehlo.reduce(%33 init: %34) applies stablehlo.minimum across dimensions = [1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
    %36 = stablehlo.compare EQ, %35, %arg11, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %37 = stablehlo.convert %36 : (tensor<2xi1>) -> tensor<2xf32>
    %38 = stablehlo.select %27, %23, %28 : tensor<2xi1>, tensor<2xf32>
    %39 = stablehlo.reshape %38 : (tensor<2xf32>) -> tensor<1x2xf32>
    %40 = stablehlo.select %27, %arg12, %28 : tensor<2xi1>, tensor<2xf32>
    %41 = stablehlo.reshape %40 : (tensor<2xf32>) -> tensor<1x2xf32>
    %42 = stablehlo.select %27, %37, %28 : tensor<2xi1>, tensor<2xf32>
    %43 = stablehlo.reshape %42 : (tensor<2xf32>) -> tensor<1x2xf32>
    %44 = stablehlo.concatenate %39, %41, %43, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
    %45 = stablehlo.broadcast_in_dim %arg8, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %46 = stablehlo.divide %arg12, %45 : tensor<2xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %48 = stablehlo.multiply %25, %47 : tensor<2x2xf32>
    %49 = stablehlo.constant dense<0.0> : tensor<f32>
    %50 = stablehlo.reduce(%44 init: %49) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    // backward: dense
    %51 = stablehlo.dot_general %48, %arg10, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %52 = stablehlo.constant dense<0.0> : tensor<f32>
    %53 = stablehlo.reduce(%48 init: %52) applies stablehlo.add across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %54 = stablehlo.constant dense<0.3> : tensor<f32>
    %55 = stablehlo.multiply %arg7, %54 : tensor<f32>
    %56 = stablehlo.constant dense<-0.105360515> : tensor<f32>
    %57 = stablehlo.multiply %arg6, %56 : tensor<f32>
    %58 = stablehlo.exponential_minus_one %57 : tensor<f32>
    %59 = stablehlo.negate %58 : tensor<f32>
    %60 = stablehlo.divide %55, %59 : tensor<f32>
    %61 = stablehlo.constant dense<-0.051293295> : tensor<f32>
    %62 = stablehlo.multiply %arg6, %61 : tensor<f32>
    %63 = stablehlo.exponential_minus_one %62 : tensor<f32>
    %64 = stablehlo.negate %63 : tensor<f32>
    %65 = stablehlo.rsqrt %64 : tensor<f32>
    // update: dense.weight
    %66 = stablehlo.subtract %51, %arg2 : tensor<2x3xf32>
    %67 = stablehlo.constant dense<0.05> : tensor<2x3xf32>
    %68 = stablehlo.multiply %66, %67 : tensor<2x3xf32>
    %69 = stablehlo.add %arg2, %68 : tensor<2x3xf32>
    %70 = stablehlo.subtract %69, %51 : tensor<2x3xf32>
    %71 = stablehlo.constant dense<0.95> : tensor<2x3xf32>
    %72 = stablehlo.multiply %70, %71 : tensor<2x3xf32>
    %73 = stablehlo.add %51, %72 : tensor<2x3xf32>
    %74 = stablehlo.multiply %73, %73 : tensor<2x3xf32>
    %75 = stablehlo.constant dense<0.0> : tensor<f32>
    %76 = stablehlo.reduce(%74 init: %75) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %77 = stablehlo.sqrt %76 : tensor<f32>
    %78 = stablehlo.constant dense<1.0e-07> : tensor<f32>
    %79 = stablehlo.add %77, %78 : tensor<f32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %81 = stablehlo.divide %73, %80 : tensor<2x3xf32>
    %82 = stablehlo.dot_general %81, %81, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %83 = stablehlo.dot_general %82, %82, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %84 = stablehlo.constant dense<2.0315> : tensor<2x2xf32>
    %85 = stablehlo.multiply %83, %84 : tensor<2x2xf32>
    %86 = stablehlo.constant dense<-4.775> : tensor<2x2xf32>
    %87 = stablehlo.multiply %82, %86 : tensor<2x2xf32>
    %88 = stablehlo.add %87, %85 : tensor<2x2xf32>
    %89 = stablehlo.dot_general %88, %81, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %90 = stablehlo.constant dense<3.4445> : tensor<2x3xf32>
    %91 = stablehlo.multiply %81, %90 : tensor<2x3xf32>
    %92 = stablehlo.add %91, %89 : tensor<2x3xf32>
    %93 = stablehlo.dot_general %92, %92, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %94 = stablehlo.dot_general %93, %93, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %95 = stablehlo.constant dense<2.0315> : tensor<2x2xf32>
    %96 = stablehlo.multiply %94, %95 : tensor<2x2xf32>
    %97 = stablehlo.constant dense<-4.775> : tensor<2x2xf32>
    %98 = stablehlo.multiply %93, %97 : tensor<2x2xf32>
    %99 = stablehlo.add %98, %96 : tensor<2x2xf32>
    %100 = stablehlo.dot_general %99, %92, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %101 = stablehlo.constant dense<3.4445> : tensor<2x3xf32>
    %102 = stablehlo.multiply %92, %101 : tensor<2x3xf32>
    %103 = stablehlo.add %102, %100 : tensor<2x3xf32>
    %104 = stablehlo.dot_general %103, %103, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %105 = stablehlo.dot_general %104, %104, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %106 = stablehlo.constant dense<2.0315> : tensor<2x2xf32>
    %107 = stablehlo.multiply %105, %106 : tensor<2x2xf32>
    %108 = stablehlo.constant dense<-4.775> : tensor<2x2xf32>
    %109 = stablehlo.multiply %104, %108 : tensor<2x2xf32>
    %110 = stablehlo.add %109, %107 : tensor<2x2xf32>
    %111 = stablehlo.dot_general %110, %103, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %112 = stablehlo.constant dense<3.4445> : tensor<2x3xf32>
    %113 = stablehlo.multiply %103, %112 : tensor<2x3xf32>
    %114 = stablehlo.add %113, %111 : tensor<2x3xf32>
    %115 = stablehlo.dot_general %114, %114, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %116 = stablehlo.dot_general %115, %115, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %117 = stablehlo.constant dense<2.0315> : tensor<2x2xf32>
    %118 = stablehlo.multiply %116, %117 : tensor<2x2xf32>
    %119 = stablehlo.constant dense<-4.775> : tensor<2x2xf32>
    %120 = stablehlo.multiply %115, %119 : tensor<2x2xf32>
    %121 = stablehlo.add %120, %118 : tensor<2x2xf32>
    %122 = stablehlo.dot_general %121, %114, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %123 = stablehlo.constant dense<3.4445> : tensor<2x3xf32>
    %124 = stablehlo.multiply %114, %123 : tensor<2x3xf32>
    %125 = stablehlo.add %124, %122 : tensor<2x3xf32>
    %126 = stablehlo.dot_general %125, %125, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %127 = stablehlo.dot_general %126, %126, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %128 = stablehlo.constant dense<2.0315> : tensor<2x2xf32>
    %129 = stablehlo.multiply %127, %128 : tensor<2x2xf32>
    %130 = stablehlo.constant dense<-4.775> : tensor<2x2xf32>
    %131 = stablehlo.multiply %126, %130 : tensor<2x2xf32>
    %132 = stablehlo.add %131, %129 : tensor<2x2xf32>
    %133 = stablehlo.dot_general %132, %125, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %134 = stablehlo.constant dense<3.4445> : tensor<2x3xf32>
    %135 = stablehlo.multiply %125, %134 : tensor<2x3xf32>
    %136 = stablehlo.add %135, %133 : tensor<2x3xf32>
    %137 = stablehlo.constant dense<1.0> : tensor<2x3xf32>
    %138 = stablehlo.multiply %136, %137 : tensor<2x3xf32>
    %139 = stablehlo.constant dense<0.01> : tensor<2x3xf32>
    %140 = stablehlo.multiply %arg0, %139 : tensor<2x3xf32>
    %141 = stablehlo.add %138, %140 : tensor<2x3xf32>
    %142 = stablehlo.broadcast_in_dim %arg7, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %143 = stablehlo.multiply %142, %141 : tensor<2x3xf32>
    %144 = stablehlo.subtract %arg0, %143 : tensor<2x3xf32>
    // update: dense.bias
    %145 = stablehlo.subtract %53, %arg3 : tensor<2xf32>
    %146 = stablehlo.constant dense<0.1> : tensor<2xf32>
    %147 = stablehlo.multiply %145, %146 : tensor<2xf32>
    %148 = stablehlo.add %arg3, %147 : tensor<2xf32>
    %149 = stablehlo.multiply %53, %53 : tensor<2xf32>
    %150 = stablehlo.constant dense<0.05> : tensor<2xf32>
    %151 = stablehlo.multiply %149, %150 : tensor<2xf32>
    %152 = stablehlo.constant dense<0.95> : tensor<2xf32>
    %153 = stablehlo.multiply %arg5, %152 : tensor<2xf32>
    %154 = stablehlo.add %153, %151 : tensor<2xf32>
    %155 = stablehlo.sqrt %154 : tensor<2xf32>
    %156 = stablehlo.broadcast_in_dim %65, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %157 = stablehlo.multiply %155, %156 : tensor<2xf32>
    %158 = stablehlo.constant dense<1.0e-10> : tensor<2xf32>
    %159 = stablehlo.add %157, %158 : tensor<2xf32>
    %160 = stablehlo.broadcast_in_dim %60, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %161 = stablehlo.multiply %160, %148 : tensor<2xf32>
    %162 = stablehlo.divide %161, %159 : tensor<2xf32>
    %163 = stablehlo.subtract %arg1, %162 : tensor<2xf32>
    return %144, %163, %69, %148, %arg4, %154, %50 : tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>
  }
}
