; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@global_smem = external addrspace(3) global [0 x i8], align 16

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #0

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #0

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maximum.f32(float, float) #3

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32) #4

; Function Attrs: nounwind
define ptx_kernel void @triton_softmax_2(ptr noalias align 16 dereferenceable(256000) %arg0, ptr noalias align 16 dereferenceable(256000) %arg1) local_unnamed_addr #5 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %4 = zext i32 %3 to i64
  %5 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %6 = shl i32 %5, 2
  %7 = or disjoint i32 %6, 768
  %8 = zext i32 %6 to i64
  %9 = icmp samesign ult i32 %7, 1000
  %10 = icmp samesign ult i32 %3, 64
  %11 = and i1 %10, %9
  %12 = mul i64 %4, 1000
  %13 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %12
  %14 = getelementptr [4 x i8], ptr addrspace(1) %13, i64 %8
  %15 = getelementptr i8, ptr addrspace(1) %14, i64 1024
  %16 = getelementptr i8, ptr addrspace(1) %14, i64 2048
  %17 = getelementptr i8, ptr addrspace(1) %14, i64 3072
  %18 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, $4;\0A\09mov.u32 $1, $5;\0A\09mov.u32 $2, $6;\0A\09mov.u32 $3, $7;\0A\09@$9 ld.global.v4.b32 { $0, $1, $2, $3 }, [ $8 + 0 ];", "=r,=r,=r,=r,r,r,r,r,l,b"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %14, i1 %10) #8
  %19 = extractvalue { i32, i32, i32, i32 } %18, 0
  %20 = extractvalue { i32, i32, i32, i32 } %18, 1
  %21 = extractvalue { i32, i32, i32, i32 } %18, 2
  %22 = extractvalue { i32, i32, i32, i32 } %18, 3
  %23 = bitcast i32 %19 to float
  %24 = bitcast i32 %20 to float
  %25 = bitcast i32 %21 to float
  %26 = bitcast i32 %22 to float
  %27 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, $4;\0A\09mov.u32 $1, $5;\0A\09mov.u32 $2, $6;\0A\09mov.u32 $3, $7;\0A\09@$9 ld.global.v4.b32 { $0, $1, $2, $3 }, [ $8 + 0 ];", "=r,=r,=r,=r,r,r,r,r,l,b"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %15, i1 %10) #8
  %28 = extractvalue { i32, i32, i32, i32 } %27, 0
  %29 = extractvalue { i32, i32, i32, i32 } %27, 1
  %30 = extractvalue { i32, i32, i32, i32 } %27, 2
  %31 = extractvalue { i32, i32, i32, i32 } %27, 3
  %32 = bitcast i32 %28 to float
  %33 = bitcast i32 %29 to float
  %34 = bitcast i32 %30 to float
  %35 = bitcast i32 %31 to float
  %36 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, $4;\0A\09mov.u32 $1, $5;\0A\09mov.u32 $2, $6;\0A\09mov.u32 $3, $7;\0A\09@$9 ld.global.v4.b32 { $0, $1, $2, $3 }, [ $8 + 0 ];", "=r,=r,=r,=r,r,r,r,r,l,b"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %16, i1 %10) #8
  %37 = extractvalue { i32, i32, i32, i32 } %36, 0
  %38 = extractvalue { i32, i32, i32, i32 } %36, 1
  %39 = extractvalue { i32, i32, i32, i32 } %36, 2
  %40 = extractvalue { i32, i32, i32, i32 } %36, 3
  %41 = bitcast i32 %37 to float
  %42 = bitcast i32 %38 to float
  %43 = bitcast i32 %39 to float
  %44 = bitcast i32 %40 to float
  %45 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, $4;\0A\09mov.u32 $1, $5;\0A\09mov.u32 $2, $6;\0A\09mov.u32 $3, $7;\0A\09@$9 ld.global.v4.b32 { $0, $1, $2, $3 }, [ $8 + 0 ];", "=r,=r,=r,=r,r,r,r,r,l,b"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %17, i1 %11) #8
  %46 = extractvalue { i32, i32, i32, i32 } %45, 0
  %47 = extractvalue { i32, i32, i32, i32 } %45, 1
  %48 = extractvalue { i32, i32, i32, i32 } %45, 2
  %49 = extractvalue { i32, i32, i32, i32 } %45, 3
  %50 = bitcast i32 %46 to float
  %51 = bitcast i32 %47 to float
  %52 = bitcast i32 %48 to float
  %53 = bitcast i32 %49 to float
  %54 = shl nuw nsw i32 %5, 4
  %55 = zext nneg i32 %54 to i64
  %56 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %55
  %57 = insertelement <4 x i32> poison, i32 %19, i64 0
  %58 = insertelement <4 x i32> %57, i32 %20, i64 1
  %59 = insertelement <4 x i32> %58, i32 %21, i64 2
  %60 = insertelement <4 x i32> %59, i32 %22, i64 3
  store <4 x i32> %60, ptr addrspace(3) %56, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %61 = shl nuw nsw i32 %5, 5
  %62 = and i32 %61, 768
  %63 = and i32 %54, 112
  %64 = and i32 %5, 32
  %65 = shl nuw nsw i32 %64, 2
  %66 = or disjoint i32 %62, %63
  %67 = or disjoint i32 %66, %65
  %68 = zext nneg i32 %67 to i64
  %69 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %68
  %70 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %69)
  %71 = extractvalue { i32, i32, i32, i32 } %70, 0
  %72 = extractvalue { i32, i32, i32, i32 } %70, 1
  %73 = extractvalue { i32, i32, i32, i32 } %70, 2
  %74 = extractvalue { i32, i32, i32, i32 } %70, 3
  %75 = bitcast i32 %71 to float
  %76 = bitcast i32 %72 to float
  %77 = bitcast i32 %73 to float
  %78 = bitcast i32 %74 to float
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %79 = insertelement <4 x i32> poison, i32 %28, i64 0
  %80 = insertelement <4 x i32> %79, i32 %29, i64 1
  %81 = insertelement <4 x i32> %80, i32 %30, i64 2
  %82 = insertelement <4 x i32> %81, i32 %31, i64 3
  store <4 x i32> %82, ptr addrspace(3) %56, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %83 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %69)
  %84 = extractvalue { i32, i32, i32, i32 } %83, 0
  %85 = extractvalue { i32, i32, i32, i32 } %83, 1
  %86 = extractvalue { i32, i32, i32, i32 } %83, 2
  %87 = extractvalue { i32, i32, i32, i32 } %83, 3
  %88 = bitcast i32 %84 to float
  %89 = bitcast i32 %85 to float
  %90 = bitcast i32 %86 to float
  %91 = bitcast i32 %87 to float
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %92 = insertelement <4 x i32> poison, i32 %37, i64 0
  %93 = insertelement <4 x i32> %92, i32 %38, i64 1
  %94 = insertelement <4 x i32> %93, i32 %39, i64 2
  %95 = insertelement <4 x i32> %94, i32 %40, i64 3
  store <4 x i32> %95, ptr addrspace(3) %56, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %96 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %69)
  %97 = extractvalue { i32, i32, i32, i32 } %96, 0
  %98 = extractvalue { i32, i32, i32, i32 } %96, 1
  %99 = extractvalue { i32, i32, i32, i32 } %96, 2
  %100 = extractvalue { i32, i32, i32, i32 } %96, 3
  %101 = bitcast i32 %97 to float
  %102 = bitcast i32 %98 to float
  %103 = bitcast i32 %99 to float
  %104 = bitcast i32 %100 to float
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %105 = insertelement <4 x i32> poison, i32 %46, i64 0
  %106 = insertelement <4 x i32> %105, i32 %47, i64 1
  %107 = insertelement <4 x i32> %106, i32 %48, i64 2
  %108 = insertelement <4 x i32> %107, i32 %49, i64 3
  store <4 x i32> %108, ptr addrspace(3) %56, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %109 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %69)
  %110 = extractvalue { i32, i32, i32, i32 } %109, 0
  %111 = extractvalue { i32, i32, i32, i32 } %109, 1
  %112 = extractvalue { i32, i32, i32, i32 } %109, 2
  %113 = extractvalue { i32, i32, i32, i32 } %109, 3
  %114 = bitcast i32 %110 to float
  %115 = bitcast i32 %111 to float
  %116 = bitcast i32 %112 to float
  %117 = bitcast i32 %113 to float
  %118 = icmp samesign ult i32 %5, 40
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %119 = tail call float @llvm.maximum.f32(float %75, float %76)
  %120 = tail call float @llvm.maximum.f32(float %77, float %78)
  %121 = tail call float @llvm.maximum.f32(float %88, float %89)
  %122 = tail call float @llvm.maximum.f32(float %90, float %91)
  %123 = tail call float @llvm.maximum.f32(float %101, float %102)
  %124 = tail call float @llvm.maximum.f32(float %103, float %104)
  %125 = tail call float @llvm.maximum.f32(float %114, float %115)
  %126 = tail call float @llvm.maximum.f32(float %116, float %117)
  %127 = select i1 %118, float %126, float %116
  %128 = tail call float @llvm.maximum.f32(float %119, float %120)
  %129 = tail call float @llvm.maximum.f32(float %121, float %122)
  %130 = tail call float @llvm.maximum.f32(float %123, float %124)
  %131 = tail call float @llvm.maximum.f32(float %125, float %127)
  %132 = tail call float @llvm.maximum.f32(float %128, float %129)
  %133 = tail call float @llvm.maximum.f32(float %130, float %131)
  %134 = tail call float @llvm.maximum.f32(float %132, float %133)
  %135 = bitcast float %134 to i32
  %136 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %135, i32 16, i32 31)
  %137 = bitcast i32 %136 to float
  %138 = tail call float @llvm.maximum.f32(float %134, float %137)
  %139 = bitcast float %138 to i32
  %140 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %139, i32 8, i32 31)
  %141 = bitcast i32 %140 to float
  %142 = tail call float @llvm.maximum.f32(float %138, float %141)
  %143 = bitcast float %142 to i32
  %144 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %143, i32 4, i32 31)
  %145 = bitcast i32 %144 to float
  %146 = tail call float @llvm.maximum.f32(float %142, float %145)
  %147 = bitcast float %146 to i32
  %148 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %147, i32 2, i32 31)
  %149 = bitcast i32 %148 to float
  %150 = tail call float @llvm.maximum.f32(float %146, float %149)
  %151 = bitcast float %150 to i32
  %152 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %151, i32 1, i32 31)
  %153 = bitcast i32 %152 to float
  %154 = tail call float @llvm.maximum.f32(float %150, float %153)
  %155 = lshr exact i32 %64, 3
  %156 = zext nneg i32 %155 to i64
  %157 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %156
  store float %154, ptr addrspace(3) %157, align 4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %158 = and i32 %6, 4
  %159 = zext nneg i32 %158 to i64
  %160 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %159
  %161 = load i32, ptr addrspace(3) %160, align 4
  %162 = bitcast i32 %161 to float
  %163 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %161, i32 1, i32 31)
  %164 = bitcast i32 %163 to float
  %165 = tail call float @llvm.maximum.f32(float %162, float %164)
  %166 = fsub float %75, %165
  %167 = fsub float %76, %165
  %168 = fsub float %77, %165
  %169 = fsub float %78, %165
  %170 = fsub float %88, %165
  %171 = fsub float %89, %165
  %172 = fsub float %90, %165
  %173 = fsub float %91, %165
  %174 = fsub float %101, %165
  %175 = fsub float %102, %165
  %176 = fsub float %103, %165
  %177 = fsub float %104, %165
  %178 = fsub float %114, %165
  %179 = fsub float %115, %165
  %180 = fsub float %116, %165
  %181 = fsub float %117, %165
  %182 = fsub float %23, %165
  %183 = fsub float %24, %165
  %184 = fsub float %25, %165
  %185 = fsub float %26, %165
  %186 = fsub float %32, %165
  %187 = fsub float %33, %165
  %188 = fsub float %34, %165
  %189 = fsub float %35, %165
  %190 = fsub float %41, %165
  %191 = fsub float %42, %165
  %192 = fsub float %43, %165
  %193 = fsub float %44, %165
  %194 = fsub float %50, %165
  %195 = fsub float %51, %165
  %196 = fsub float %52, %165
  %197 = fsub float %53, %165
  %198 = tail call float @llvm.fma.f32(float %166, float 5.724980e-03, float 5.000000e-01)
  %199 = tail call float @llvm.nvvm.saturate.f(float %198) #8
  %200 = tail call float @llvm.nvvm.fma.rm.f(float %199, float 2.520000e+02, float f0x4B400001) #8
  %201 = fadd float %200, f0xCB40007F
  %202 = fneg float %201
  %203 = tail call float @llvm.fma.f32(float %166, float f0x3FB8AA3B, float %202)
  %204 = tail call float @llvm.fma.f32(float %166, float f0x32A57060, float %203)
  %205 = bitcast float %200 to i32
  %206 = shl i32 %205, 23
  %207 = bitcast i32 %206 to float
  %208 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %204)
  %209 = fmul float %208, %207
  %210 = tail call float @llvm.fma.f32(float %167, float 5.724980e-03, float 5.000000e-01)
  %211 = tail call float @llvm.nvvm.saturate.f(float %210) #8
  %212 = tail call float @llvm.nvvm.fma.rm.f(float %211, float 2.520000e+02, float f0x4B400001) #8
  %213 = fadd float %212, f0xCB40007F
  %214 = fneg float %213
  %215 = tail call float @llvm.fma.f32(float %167, float f0x3FB8AA3B, float %214)
  %216 = tail call float @llvm.fma.f32(float %167, float f0x32A57060, float %215)
  %217 = bitcast float %212 to i32
  %218 = shl i32 %217, 23
  %219 = bitcast i32 %218 to float
  %220 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %216)
  %221 = fmul float %220, %219
  %222 = tail call float @llvm.fma.f32(float %168, float 5.724980e-03, float 5.000000e-01)
  %223 = tail call float @llvm.nvvm.saturate.f(float %222) #8
  %224 = tail call float @llvm.nvvm.fma.rm.f(float %223, float 2.520000e+02, float f0x4B400001) #8
  %225 = fadd float %224, f0xCB40007F
  %226 = fneg float %225
  %227 = tail call float @llvm.fma.f32(float %168, float f0x3FB8AA3B, float %226)
  %228 = tail call float @llvm.fma.f32(float %168, float f0x32A57060, float %227)
  %229 = bitcast float %224 to i32
  %230 = shl i32 %229, 23
  %231 = bitcast i32 %230 to float
  %232 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %228)
  %233 = fmul float %232, %231
  %234 = tail call float @llvm.fma.f32(float %169, float 5.724980e-03, float 5.000000e-01)
  %235 = tail call float @llvm.nvvm.saturate.f(float %234) #8
  %236 = tail call float @llvm.nvvm.fma.rm.f(float %235, float 2.520000e+02, float f0x4B400001) #8
  %237 = fadd float %236, f0xCB40007F
  %238 = fneg float %237
  %239 = tail call float @llvm.fma.f32(float %169, float f0x3FB8AA3B, float %238)
  %240 = tail call float @llvm.fma.f32(float %169, float f0x32A57060, float %239)
  %241 = bitcast float %236 to i32
  %242 = shl i32 %241, 23
  %243 = bitcast i32 %242 to float
  %244 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %240)
  %245 = fmul float %244, %243
  %246 = tail call float @llvm.fma.f32(float %170, float 5.724980e-03, float 5.000000e-01)
  %247 = tail call float @llvm.nvvm.saturate.f(float %246) #8
  %248 = tail call float @llvm.nvvm.fma.rm.f(float %247, float 2.520000e+02, float f0x4B400001) #8
  %249 = fadd float %248, f0xCB40007F
  %250 = fneg float %249
  %251 = tail call float @llvm.fma.f32(float %170, float f0x3FB8AA3B, float %250)
  %252 = tail call float @llvm.fma.f32(float %170, float f0x32A57060, float %251)
  %253 = bitcast float %248 to i32
  %254 = shl i32 %253, 23
  %255 = bitcast i32 %254 to float
  %256 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %252)
  %257 = fmul float %256, %255
  %258 = tail call float @llvm.fma.f32(float %171, float 5.724980e-03, float 5.000000e-01)
  %259 = tail call float @llvm.nvvm.saturate.f(float %258) #8
  %260 = tail call float @llvm.nvvm.fma.rm.f(float %259, float 2.520000e+02, float f0x4B400001) #8
  %261 = fadd float %260, f0xCB40007F
  %262 = fneg float %261
  %263 = tail call float @llvm.fma.f32(float %171, float f0x3FB8AA3B, float %262)
  %264 = tail call float @llvm.fma.f32(float %171, float f0x32A57060, float %263)
  %265 = bitcast float %260 to i32
  %266 = shl i32 %265, 23
  %267 = bitcast i32 %266 to float
  %268 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %264)
  %269 = fmul float %268, %267
  %270 = tail call float @llvm.fma.f32(float %172, float 5.724980e-03, float 5.000000e-01)
  %271 = tail call float @llvm.nvvm.saturate.f(float %270) #8
  %272 = tail call float @llvm.nvvm.fma.rm.f(float %271, float 2.520000e+02, float f0x4B400001) #8
  %273 = fadd float %272, f0xCB40007F
  %274 = fneg float %273
  %275 = tail call float @llvm.fma.f32(float %172, float f0x3FB8AA3B, float %274)
  %276 = tail call float @llvm.fma.f32(float %172, float f0x32A57060, float %275)
  %277 = bitcast float %272 to i32
  %278 = shl i32 %277, 23
  %279 = bitcast i32 %278 to float
  %280 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %276)
  %281 = fmul float %280, %279
  %282 = tail call float @llvm.fma.f32(float %173, float 5.724980e-03, float 5.000000e-01)
  %283 = tail call float @llvm.nvvm.saturate.f(float %282) #8
  %284 = tail call float @llvm.nvvm.fma.rm.f(float %283, float 2.520000e+02, float f0x4B400001) #8
  %285 = fadd float %284, f0xCB40007F
  %286 = fneg float %285
  %287 = tail call float @llvm.fma.f32(float %173, float f0x3FB8AA3B, float %286)
  %288 = tail call float @llvm.fma.f32(float %173, float f0x32A57060, float %287)
  %289 = bitcast float %284 to i32
  %290 = shl i32 %289, 23
  %291 = bitcast i32 %290 to float
  %292 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %288)
  %293 = fmul float %292, %291
  %294 = tail call float @llvm.fma.f32(float %174, float 5.724980e-03, float 5.000000e-01)
  %295 = tail call float @llvm.nvvm.saturate.f(float %294) #8
  %296 = tail call float @llvm.nvvm.fma.rm.f(float %295, float 2.520000e+02, float f0x4B400001) #8
  %297 = fadd float %296, f0xCB40007F
  %298 = fneg float %297
  %299 = tail call float @llvm.fma.f32(float %174, float f0x3FB8AA3B, float %298)
  %300 = tail call float @llvm.fma.f32(float %174, float f0x32A57060, float %299)
  %301 = bitcast float %296 to i32
  %302 = shl i32 %301, 23
  %303 = bitcast i32 %302 to float
  %304 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %300)
  %305 = fmul float %304, %303
  %306 = tail call float @llvm.fma.f32(float %175, float 5.724980e-03, float 5.000000e-01)
  %307 = tail call float @llvm.nvvm.saturate.f(float %306) #8
  %308 = tail call float @llvm.nvvm.fma.rm.f(float %307, float 2.520000e+02, float f0x4B400001) #8
  %309 = fadd float %308, f0xCB40007F
  %310 = fneg float %309
  %311 = tail call float @llvm.fma.f32(float %175, float f0x3FB8AA3B, float %310)
  %312 = tail call float @llvm.fma.f32(float %175, float f0x32A57060, float %311)
  %313 = bitcast float %308 to i32
  %314 = shl i32 %313, 23
  %315 = bitcast i32 %314 to float
  %316 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %312)
  %317 = fmul float %316, %315
  %318 = tail call float @llvm.fma.f32(float %176, float 5.724980e-03, float 5.000000e-01)
  %319 = tail call float @llvm.nvvm.saturate.f(float %318) #8
  %320 = tail call float @llvm.nvvm.fma.rm.f(float %319, float 2.520000e+02, float f0x4B400001) #8
  %321 = fadd float %320, f0xCB40007F
  %322 = fneg float %321
  %323 = tail call float @llvm.fma.f32(float %176, float f0x3FB8AA3B, float %322)
  %324 = tail call float @llvm.fma.f32(float %176, float f0x32A57060, float %323)
  %325 = bitcast float %320 to i32
  %326 = shl i32 %325, 23
  %327 = bitcast i32 %326 to float
  %328 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %324)
  %329 = fmul float %328, %327
  %330 = tail call float @llvm.fma.f32(float %177, float 5.724980e-03, float 5.000000e-01)
  %331 = tail call float @llvm.nvvm.saturate.f(float %330) #8
  %332 = tail call float @llvm.nvvm.fma.rm.f(float %331, float 2.520000e+02, float f0x4B400001) #8
  %333 = fadd float %332, f0xCB40007F
  %334 = fneg float %333
  %335 = tail call float @llvm.fma.f32(float %177, float f0x3FB8AA3B, float %334)
  %336 = tail call float @llvm.fma.f32(float %177, float f0x32A57060, float %335)
  %337 = bitcast float %332 to i32
  %338 = shl i32 %337, 23
  %339 = bitcast i32 %338 to float
  %340 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %336)
  %341 = fmul float %340, %339
  %342 = tail call float @llvm.fma.f32(float %178, float 5.724980e-03, float 5.000000e-01)
  %343 = tail call float @llvm.nvvm.saturate.f(float %342) #8
  %344 = tail call float @llvm.nvvm.fma.rm.f(float %343, float 2.520000e+02, float f0x4B400001) #8
  %345 = fadd float %344, f0xCB40007F
  %346 = fneg float %345
  %347 = tail call float @llvm.fma.f32(float %178, float f0x3FB8AA3B, float %346)
  %348 = tail call float @llvm.fma.f32(float %178, float f0x32A57060, float %347)
  %349 = bitcast float %344 to i32
  %350 = shl i32 %349, 23
  %351 = bitcast i32 %350 to float
  %352 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %348)
  %353 = fmul float %352, %351
  %354 = tail call float @llvm.fma.f32(float %179, float 5.724980e-03, float 5.000000e-01)
  %355 = tail call float @llvm.nvvm.saturate.f(float %354) #8
  %356 = tail call float @llvm.nvvm.fma.rm.f(float %355, float 2.520000e+02, float f0x4B400001) #8
  %357 = fadd float %356, f0xCB40007F
  %358 = fneg float %357
  %359 = tail call float @llvm.fma.f32(float %179, float f0x3FB8AA3B, float %358)
  %360 = tail call float @llvm.fma.f32(float %179, float f0x32A57060, float %359)
  %361 = bitcast float %356 to i32
  %362 = shl i32 %361, 23
  %363 = bitcast i32 %362 to float
  %364 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %360)
  %365 = fmul float %364, %363
  %366 = tail call float @llvm.fma.f32(float %180, float 5.724980e-03, float 5.000000e-01)
  %367 = tail call float @llvm.nvvm.saturate.f(float %366) #8
  %368 = tail call float @llvm.nvvm.fma.rm.f(float %367, float 2.520000e+02, float f0x4B400001) #8
  %369 = fadd float %368, f0xCB40007F
  %370 = fneg float %369
  %371 = tail call float @llvm.fma.f32(float %180, float f0x3FB8AA3B, float %370)
  %372 = tail call float @llvm.fma.f32(float %180, float f0x32A57060, float %371)
  %373 = bitcast float %368 to i32
  %374 = shl i32 %373, 23
  %375 = bitcast i32 %374 to float
  %376 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %372)
  %377 = fmul float %376, %375
  %378 = tail call float @llvm.fma.f32(float %181, float 5.724980e-03, float 5.000000e-01)
  %379 = tail call float @llvm.nvvm.saturate.f(float %378) #8
  %380 = tail call float @llvm.nvvm.fma.rm.f(float %379, float 2.520000e+02, float f0x4B400001) #8
  %381 = fadd float %380, f0xCB40007F
  %382 = fneg float %381
  %383 = tail call float @llvm.fma.f32(float %181, float f0x3FB8AA3B, float %382)
  %384 = tail call float @llvm.fma.f32(float %181, float f0x32A57060, float %383)
  %385 = bitcast float %380 to i32
  %386 = shl i32 %385, 23
  %387 = bitcast i32 %386 to float
  %388 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %384)
  %389 = fmul float %388, %387
  %390 = select i1 %118, float %389, float 0.000000e+00
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %391 = fadd float %209, %221
  %392 = fadd float %233, %245
  %393 = fadd float %257, %269
  %394 = fadd float %281, %293
  %395 = fadd float %305, %317
  %396 = fadd float %329, %341
  %397 = fadd float %353, %365
  %398 = fadd float %377, %390
  %399 = fadd float %391, %392
  %400 = fadd float %393, %394
  %401 = fadd float %395, %396
  %402 = fadd float %397, %398
  %403 = fadd float %399, %400
  %404 = fadd float %401, %402
  %405 = fadd float %403, %404
  %406 = bitcast float %405 to i32
  %407 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %406, i32 16, i32 31)
  %408 = bitcast i32 %407 to float
  %409 = fadd float %405, %408
  %410 = bitcast float %409 to i32
  %411 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %410, i32 8, i32 31)
  %412 = bitcast i32 %411 to float
  %413 = fadd float %409, %412
  %414 = bitcast float %413 to i32
  %415 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %414, i32 4, i32 31)
  %416 = bitcast i32 %415 to float
  %417 = fadd float %413, %416
  %418 = bitcast float %417 to i32
  %419 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %418, i32 2, i32 31)
  %420 = bitcast i32 %419 to float
  %421 = fadd float %417, %420
  %422 = bitcast float %421 to i32
  %423 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %422, i32 1, i32 31)
  %424 = bitcast i32 %423 to float
  %425 = fadd float %421, %424
  store float %425, ptr addrspace(3) %157, align 4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %426 = load i32, ptr addrspace(3) %160, align 4
  %427 = bitcast i32 %426 to float
  %428 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %426, i32 1, i32 31)
  %429 = bitcast i32 %428 to float
  %430 = fadd float %427, %429
  %431 = fadd float %430, 0.000000e+00
  %432 = fcmp olt float %430, f0x00800000
  %433 = fmul float %431, f0x4B000000
  %spec.select.i = select i1 %432, float %433, float %431
  %spec.select1.i = select i1 %432, float -2.300000e+01, float 0.000000e+00
  %434 = bitcast float %spec.select.i to i32
  %435 = add i32 %434, -1059760811
  %436 = and i32 %435, -8388608
  %437 = sub i32 %434, %436
  %438 = bitcast i32 %437 to float
  %439 = sitofp i32 %436 to float
  %440 = tail call float @llvm.fma.f32(float %439, float f0x34000000, float %spec.select1.i)
  %441 = fadd float %438, -1.000000e+00
  %442 = tail call float @llvm.fma.f32(float %441, float f0xBE055027, float f0x3E1039F6)
  %443 = tail call float @llvm.fma.f32(float %442, float %441, float f0xBDF8CDCC)
  %444 = tail call float @llvm.fma.f32(float %443, float %441, float f0x3E0F2955)
  %445 = tail call float @llvm.fma.f32(float %444, float %441, float f0xBE2AD8B9)
  %446 = tail call float @llvm.fma.f32(float %445, float %441, float 2.001230e-01)
  %447 = tail call float @llvm.fma.f32(float %446, float %441, float f0xBE7FFF22)
  %448 = tail call float @llvm.fma.f32(float %447, float %441, float f0x3EAAAA78)
  %449 = tail call float @llvm.fma.f32(float %448, float %441, float -5.000000e-01)
  %450 = fmul float %441, %449
  %451 = tail call float @llvm.fma.f32(float %450, float %441, float %441)
  %452 = tail call float @llvm.fma.f32(float %440, float f0x3F317218, float %451)
  %453 = icmp ugt i32 %434, 2139095039
  %454 = tail call float @llvm.fma.f32(float %spec.select.i, float +inf, float +inf)
  %r.i.0.i = select i1 %453, float %454, float %452
  %455 = fcmp oeq float %spec.select.i, 0.000000e+00
  %r.i.1.i = select i1 %455, float -inf, float %r.i.0.i
  %456 = fsub float %182, %r.i.1.i
  %457 = fsub float %183, %r.i.1.i
  %458 = fsub float %184, %r.i.1.i
  %459 = fsub float %185, %r.i.1.i
  %460 = fsub float %186, %r.i.1.i
  %461 = fsub float %187, %r.i.1.i
  %462 = fsub float %188, %r.i.1.i
  %463 = fsub float %189, %r.i.1.i
  %464 = fsub float %190, %r.i.1.i
  %465 = fsub float %191, %r.i.1.i
  %466 = fsub float %192, %r.i.1.i
  %467 = fsub float %193, %r.i.1.i
  %468 = fsub float %194, %r.i.1.i
  %469 = fsub float %195, %r.i.1.i
  %470 = fsub float %196, %r.i.1.i
  %471 = fsub float %197, %r.i.1.i
  %472 = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %12
  %473 = getelementptr [4 x i8], ptr addrspace(1) %472, i64 %8
  %474 = getelementptr i8, ptr addrspace(1) %473, i64 1024
  %475 = getelementptr i8, ptr addrspace(1) %473, i64 2048
  %476 = getelementptr i8, ptr addrspace(1) %473, i64 3072
  %477 = bitcast float %456 to i32
  %478 = bitcast float %457 to i32
  %479 = bitcast float %458 to i32
  %480 = bitcast float %459 to i32
  tail call void asm sideeffect "@$5 st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l,b"(i32 %477, i32 %478, i32 %479, i32 %480, ptr addrspace(1) %473, i1 %10) #8
  %481 = bitcast float %460 to i32
  %482 = bitcast float %461 to i32
  %483 = bitcast float %462 to i32
  %484 = bitcast float %463 to i32
  tail call void asm sideeffect "@$5 st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l,b"(i32 %481, i32 %482, i32 %483, i32 %484, ptr addrspace(1) %474, i1 %10) #8
  %485 = bitcast float %464 to i32
  %486 = bitcast float %465 to i32
  %487 = bitcast float %466 to i32
  %488 = bitcast float %467 to i32
  tail call void asm sideeffect "@$5 st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l,b"(i32 %485, i32 %486, i32 %487, i32 %488, ptr addrspace(1) %475, i1 %10) #8
  %489 = bitcast float %468 to i32
  %490 = bitcast float %469 to i32
  %491 = bitcast float %470 to i32
  %492 = bitcast float %471 to i32
  tail call void asm sideeffect "@$5 st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l,b"(i32 %489, i32 %490, i32 %491, i32 %492, ptr addrspace(1) %476, i1 %11) #8
  ret void
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.nvvm.saturate.f(float) #3

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.nvvm.fma.rm.f(float, float, float) #3

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float) #6

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #7

attributes #0 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #1 = { convergent nocallback nounwind }
attributes #2 = { convergent nocallback nofree nounwind memory(argmem: read) }
attributes #3 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #5 = { nounwind "nvvm.reqntid"="64,1,1" }
attributes #6 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #7 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #8 = { nounwind }

!llvm.module.flags = !{!0, !28}
!nvvm.annotations = !{}
!llvm.ident = !{!1}
!nvvmir.version = !{!2}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!2 = !{i32 2, i32 0}
!28 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
