; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@global_smem = external addrspace(3) global [0 x i8], align 16

; Function Attrs: convergent nocallback nofree nounwind memory(none)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32, i32, i32, i32, i32, i32, float, float, float, float) #0

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #3

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) #4

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.launch.dependents() #1

; Function Attrs: nounwind
define ptx_kernel void @gemm_fusion_dot_1(ptr noalias align 16 dereferenceable(2048) %arg0, ptr noalias align 16 dereferenceable(2048) %arg1, ptr noalias align 16 dereferenceable(1024) %arg2) local_unnamed_addr #5 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %4 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %5 = and i32 %4, 3
  %6 = shl nuw nsw i32 %5, 2
  %7 = and i32 %4, 60
  %8 = shl nuw nsw i32 %4, 2
  %9 = and i32 %8, 224
  %10 = and i32 %4, 7
  %11 = shl nuw nsw i32 %10, 2
  %12 = or disjoint i32 %11, %9
  %13 = zext nneg i32 %12 to i64
  %14 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %13
  %15 = getelementptr i8, ptr addrspace(1) %14, i64 1024
  %16 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %14) #1
  %17 = extractvalue { i32, i32, i32, i32 } %16, 0
  %18 = extractvalue { i32, i32, i32, i32 } %16, 1
  %19 = extractvalue { i32, i32, i32, i32 } %16, 2
  %20 = extractvalue { i32, i32, i32, i32 } %16, 3
  %21 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %15) #1
  %22 = extractvalue { i32, i32, i32, i32 } %21, 0
  %23 = extractvalue { i32, i32, i32, i32 } %21, 1
  %24 = extractvalue { i32, i32, i32, i32 } %21, 2
  %25 = extractvalue { i32, i32, i32, i32 } %21, 3
  %26 = shl nuw nsw i32 %4, 4
  %27 = shl nuw nsw i32 %4, 1
  %28 = and i32 %27, 112
  %29 = xor i32 %28, %26
  %30 = zext nneg i32 %29 to i64
  %31 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %30
  %32 = insertelement <4 x i32> poison, i32 %17, i64 0
  %33 = insertelement <4 x i32> %32, i32 %18, i64 1
  %34 = insertelement <4 x i32> %33, i32 %19, i64 2
  %35 = insertelement <4 x i32> %34, i32 %20, i64 3
  store <4 x i32> %35, ptr addrspace(3) %31, align 16
  %36 = getelementptr inbounds nuw i8, ptr addrspace(3) %31, i64 1024
  %37 = insertelement <4 x i32> poison, i32 %22, i64 0
  %38 = insertelement <4 x i32> %37, i32 %23, i64 1
  %39 = insertelement <4 x i32> %38, i32 %24, i64 2
  %40 = insertelement <4 x i32> %39, i32 %25, i64 3
  store <4 x i32> %40, ptr addrspace(3) %36, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %41 = shl nuw nsw i32 %4, 7
  %42 = and i32 %41, 1920
  %43 = shl nuw nsw i32 %10, 4
  %44 = and i32 %4, 16
  %45 = xor i32 %43, %44
  %46 = or disjoint i32 %45, %42
  %47 = zext nneg i32 %46 to i64
  %48 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %47
  %49 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %48)
  %50 = extractvalue { i32, i32, i32, i32 } %49, 0
  %51 = extractvalue { i32, i32, i32, i32 } %49, 1
  %52 = extractvalue { i32, i32, i32, i32 } %49, 2
  %53 = extractvalue { i32, i32, i32, i32 } %49, 3
  %54 = bitcast i32 %50 to float
  %55 = bitcast i32 %51 to float
  %56 = bitcast i32 %52 to float
  %57 = bitcast i32 %53 to float
  %58 = xor i32 %46, 32
  %59 = zext nneg i32 %58 to i64
  %60 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %59
  %61 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %60)
  %62 = extractvalue { i32, i32, i32, i32 } %61, 0
  %63 = extractvalue { i32, i32, i32, i32 } %61, 1
  %64 = extractvalue { i32, i32, i32, i32 } %61, 2
  %65 = extractvalue { i32, i32, i32, i32 } %61, 3
  %66 = bitcast i32 %62 to float
  %67 = bitcast i32 %63 to float
  %68 = bitcast i32 %64 to float
  %69 = bitcast i32 %65 to float
  %70 = xor i32 %46, 64
  %71 = zext nneg i32 %70 to i64
  %72 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %71
  %73 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %72)
  %74 = extractvalue { i32, i32, i32, i32 } %73, 0
  %75 = extractvalue { i32, i32, i32, i32 } %73, 1
  %76 = extractvalue { i32, i32, i32, i32 } %73, 2
  %77 = extractvalue { i32, i32, i32, i32 } %73, 3
  %78 = bitcast i32 %74 to float
  %79 = bitcast i32 %75 to float
  %80 = bitcast i32 %76 to float
  %81 = bitcast i32 %77 to float
  %82 = xor i32 %46, 96
  %83 = zext nneg i32 %82 to i64
  %84 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %83
  %85 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %84)
  %86 = extractvalue { i32, i32, i32, i32 } %85, 0
  %87 = extractvalue { i32, i32, i32, i32 } %85, 1
  %88 = extractvalue { i32, i32, i32, i32 } %85, 2
  %89 = extractvalue { i32, i32, i32, i32 } %85, 3
  %90 = bitcast i32 %86 to float
  %91 = bitcast i32 %87 to float
  %92 = bitcast i32 %88 to float
  %93 = bitcast i32 %89 to float
  %94 = and i32 %8, 240
  %95 = or disjoint i32 %6, %94
  %96 = zext nneg i32 %95 to i64
  %97 = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %96
  %98 = getelementptr i8, ptr addrspace(1) %97, i64 1024
  %99 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %97) #1
  %100 = extractvalue { i32, i32, i32, i32 } %99, 0
  %101 = extractvalue { i32, i32, i32, i32 } %99, 1
  %102 = extractvalue { i32, i32, i32, i32 } %99, 2
  %103 = extractvalue { i32, i32, i32, i32 } %99, 3
  %104 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %98) #1
  %105 = extractvalue { i32, i32, i32, i32 } %104, 0
  %106 = extractvalue { i32, i32, i32, i32 } %104, 1
  %107 = extractvalue { i32, i32, i32, i32 } %104, 2
  %108 = extractvalue { i32, i32, i32, i32 } %104, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %109 = and i32 %26, 880
  %110 = and i32 %4, 8
  %111 = icmp eq i32 %110, 0
  %112 = select i1 %111, i32 0, i32 160
  %113 = xor i32 %112, %109
  %114 = zext nneg i32 %113 to i64
  %115 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %114
  %116 = insertelement <4 x i32> poison, i32 %100, i64 0
  %117 = insertelement <4 x i32> %116, i32 %101, i64 1
  %118 = insertelement <4 x i32> %117, i32 %102, i64 2
  %119 = insertelement <4 x i32> %118, i32 %103, i64 3
  store <4 x i32> %119, ptr addrspace(3) %115, align 16
  %120 = getelementptr inbounds nuw i8, ptr addrspace(3) %115, i64 1024
  %121 = insertelement <4 x i32> poison, i32 %105, i64 0
  %122 = insertelement <4 x i32> %121, i32 %106, i64 1
  %123 = insertelement <4 x i32> %122, i32 %107, i64 2
  %124 = insertelement <4 x i32> %123, i32 %108, i64 3
  store <4 x i32> %124, ptr addrspace(3) %120, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %125 = and i32 %4, 1
  %126 = shl nuw nsw i32 %125, 6
  %127 = and i32 %4, 2
  %128 = icmp eq i32 %127, 0
  %129 = select i1 %128, i32 0, i32 160
  %130 = xor i32 %129, %7
  %131 = or disjoint i32 %130, %126
  %132 = zext nneg i32 %131 to i64
  %133 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %132
  %134 = load float, ptr addrspace(3) %133, align 4
  %135 = getelementptr inbounds nuw i8, ptr addrspace(3) %133, i64 256
  %136 = load float, ptr addrspace(3) %135, align 4
  %137 = getelementptr inbounds nuw i8, ptr addrspace(3) %133, i64 512
  %138 = load float, ptr addrspace(3) %137, align 4
  %139 = getelementptr inbounds nuw i8, ptr addrspace(3) %133, i64 768
  %140 = load float, ptr addrspace(3) %139, align 4
  %141 = getelementptr inbounds nuw i8, ptr addrspace(3) %133, i64 1024
  %142 = load float, ptr addrspace(3) %141, align 4
  %143 = getelementptr inbounds nuw i8, ptr addrspace(3) %133, i64 1280
  %144 = load float, ptr addrspace(3) %143, align 4
  %145 = getelementptr inbounds nuw i8, ptr addrspace(3) %133, i64 1536
  %146 = load float, ptr addrspace(3) %145, align 4
  %147 = getelementptr inbounds nuw i8, ptr addrspace(3) %133, i64 1792
  %148 = load float, ptr addrspace(3) %147, align 4
  %149 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %54) #1
  %150 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %55) #1
  %151 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %56) #1
  %152 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %57) #1
  %153 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %66) #1
  %154 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %67) #1
  %155 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %68) #1
  %156 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %69) #1
  %157 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %78) #1
  %158 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %79) #1
  %159 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %80) #1
  %160 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %81) #1
  %161 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %90) #1
  %162 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %91) #1
  %163 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %92) #1
  %164 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %93) #1
  %165 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %134) #1
  %166 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %136) #1
  %167 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %138) #1
  %168 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %140) #1
  %169 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %142) #1
  %170 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %144) #1
  %171 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %146) #1
  %172 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %148) #1
  %173 = bitcast float %149 to i32
  %174 = bitcast float %150 to i32
  %175 = bitcast float %151 to i32
  %176 = bitcast float %152 to i32
  %177 = bitcast float %153 to i32
  %178 = bitcast float %154 to i32
  %179 = bitcast float %155 to i32
  %180 = bitcast float %156 to i32
  %181 = bitcast float %157 to i32
  %182 = bitcast float %158 to i32
  %183 = bitcast float %159 to i32
  %184 = bitcast float %160 to i32
  %185 = bitcast float %161 to i32
  %186 = bitcast float %162 to i32
  %187 = bitcast float %163 to i32
  %188 = bitcast float %164 to i32
  %189 = bitcast float %165 to i32
  %190 = bitcast float %166 to i32
  %191 = bitcast float %167 to i32
  %192 = bitcast float %168 to i32
  %193 = bitcast float %169 to i32
  %194 = bitcast float %170 to i32
  %195 = bitcast float %171 to i32
  %196 = bitcast float %172 to i32
  %197 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %173, i32 %174, i32 %175, i32 %176, i32 %189, i32 %190, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00)
  %198 = extractvalue { float, float, float, float } %197, 0
  %199 = extractvalue { float, float, float, float } %197, 1
  %200 = extractvalue { float, float, float, float } %197, 2
  %201 = extractvalue { float, float, float, float } %197, 3
  %202 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %177, i32 %178, i32 %179, i32 %180, i32 %191, i32 %192, float %198, float %199, float %200, float %201)
  %203 = extractvalue { float, float, float, float } %202, 0
  %204 = extractvalue { float, float, float, float } %202, 1
  %205 = extractvalue { float, float, float, float } %202, 2
  %206 = extractvalue { float, float, float, float } %202, 3
  %207 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %181, i32 %182, i32 %183, i32 %184, i32 %193, i32 %194, float %203, float %204, float %205, float %206)
  %208 = extractvalue { float, float, float, float } %207, 0
  %209 = extractvalue { float, float, float, float } %207, 1
  %210 = extractvalue { float, float, float, float } %207, 2
  %211 = extractvalue { float, float, float, float } %207, 3
  %212 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %185, i32 %186, i32 %187, i32 %188, i32 %195, i32 %196, float %208, float %209, float %210, float %211)
  %213 = extractvalue { float, float, float, float } %212, 0
  %214 = extractvalue { float, float, float, float } %212, 1
  %215 = extractvalue { float, float, float, float } %212, 2
  %216 = extractvalue { float, float, float, float } %212, 3
  tail call void @llvm.nvvm.griddepcontrol.launch.dependents()
  %217 = tail call float @llvm.nvvm.fabs.f32(float %213)
  %218 = fmul float %217, 2.885390e+00
  %219 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %218)
  %220 = fadd float %219, 1.000000e+00
  %221 = tail call float asm "rcp.approx.ftz.f32 $0,$1;", "=f,f"(float %220) #9, !srcloc !3
  %222 = tail call float @llvm.fma.f32(float %221, float -2.000000e+00, float 1.000000e+00)
  %223 = fcmp oge float %217, f0x41102CB4
  %s.0.i = select i1 %223, float 1.000000e+00, float %222
  %224 = tail call float @llvm.copysign.f32(float %s.0.i, float %213) #1
  %225 = fmul float %213, %213
  %226 = tail call float @llvm.fma.f32(float %225, float f0x3C80F082, float f0xBD563CAE)
  %227 = tail call float @llvm.fma.f32(float %226, float %225, float f0x3E085941)
  %228 = tail call float @llvm.fma.f32(float %227, float %225, float f0xBEAAA9ED)
  %229 = tail call float @llvm.fma.f32(float %228, float %225, float 0.000000e+00)
  %230 = tail call float @llvm.fma.f32(float %229, float %213, float %213)
  %231 = fcmp oge float %217, 6.000000e-01
  %.01.i = select i1 %231, float %224, float %230
  %232 = tail call float @llvm.nvvm.fabs.f32(float %214)
  %233 = fmul float %232, 2.885390e+00
  %234 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %233)
  %235 = fadd float %234, 1.000000e+00
  %236 = tail call float asm "rcp.approx.ftz.f32 $0,$1;", "=f,f"(float %235) #9, !srcloc !3
  %237 = tail call float @llvm.fma.f32(float %236, float -2.000000e+00, float 1.000000e+00)
  %238 = fcmp oge float %232, f0x41102CB4
  %s.0.i7 = select i1 %238, float 1.000000e+00, float %237
  %239 = tail call float @llvm.copysign.f32(float %s.0.i7, float %214) #1
  %240 = fmul float %214, %214
  %241 = tail call float @llvm.fma.f32(float %240, float f0x3C80F082, float f0xBD563CAE)
  %242 = tail call float @llvm.fma.f32(float %241, float %240, float f0x3E085941)
  %243 = tail call float @llvm.fma.f32(float %242, float %240, float f0xBEAAA9ED)
  %244 = tail call float @llvm.fma.f32(float %243, float %240, float 0.000000e+00)
  %245 = tail call float @llvm.fma.f32(float %244, float %214, float %214)
  %246 = fcmp oge float %232, 6.000000e-01
  %.01.i8 = select i1 %246, float %239, float %245
  %247 = tail call float @llvm.nvvm.fabs.f32(float %215)
  %248 = fmul float %247, 2.885390e+00
  %249 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %248)
  %250 = fadd float %249, 1.000000e+00
  %251 = tail call float asm "rcp.approx.ftz.f32 $0,$1;", "=f,f"(float %250) #9, !srcloc !3
  %252 = tail call float @llvm.fma.f32(float %251, float -2.000000e+00, float 1.000000e+00)
  %253 = fcmp oge float %247, f0x41102CB4
  %s.0.i9 = select i1 %253, float 1.000000e+00, float %252
  %254 = tail call float @llvm.copysign.f32(float %s.0.i9, float %215) #1
  %255 = fmul float %215, %215
  %256 = tail call float @llvm.fma.f32(float %255, float f0x3C80F082, float f0xBD563CAE)
  %257 = tail call float @llvm.fma.f32(float %256, float %255, float f0x3E085941)
  %258 = tail call float @llvm.fma.f32(float %257, float %255, float f0xBEAAA9ED)
  %259 = tail call float @llvm.fma.f32(float %258, float %255, float 0.000000e+00)
  %260 = tail call float @llvm.fma.f32(float %259, float %215, float %215)
  %261 = fcmp oge float %247, 6.000000e-01
  %.01.i10 = select i1 %261, float %254, float %260
  %262 = tail call float @llvm.nvvm.fabs.f32(float %216)
  %263 = fmul float %262, 2.885390e+00
  %264 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %263)
  %265 = fadd float %264, 1.000000e+00
  %266 = tail call float asm "rcp.approx.ftz.f32 $0,$1;", "=f,f"(float %265) #9, !srcloc !3
  %267 = tail call float @llvm.fma.f32(float %266, float -2.000000e+00, float 1.000000e+00)
  %268 = fcmp oge float %262, f0x41102CB4
  %s.0.i11 = select i1 %268, float 1.000000e+00, float %267
  %269 = tail call float @llvm.copysign.f32(float %s.0.i11, float %216) #1
  %270 = fmul float %216, %216
  %271 = tail call float @llvm.fma.f32(float %270, float f0x3C80F082, float f0xBD563CAE)
  %272 = tail call float @llvm.fma.f32(float %271, float %270, float f0x3E085941)
  %273 = tail call float @llvm.fma.f32(float %272, float %270, float f0xBEAAA9ED)
  %274 = tail call float @llvm.fma.f32(float %273, float %270, float 0.000000e+00)
  %275 = tail call float @llvm.fma.f32(float %274, float %216, float %216)
  %276 = fcmp oge float %262, 6.000000e-01
  %.01.i12 = select i1 %276, float %269, float %275
  %277 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %96
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %278 = and i32 %27, 88
  %279 = icmp eq i32 %125, 0
  %280 = select i1 %279, i32 0, i32 576
  %281 = shl nuw nsw i32 %127, 4
  %282 = shl nuw nsw i32 %44, 3
  %283 = or disjoint i32 %281, %282
  %284 = xor i32 %280, %278
  %285 = or disjoint i32 %284, %283
  %286 = zext nneg i32 %285 to i64
  %287 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %286
  %288 = insertelement <2 x float> poison, float %.01.i, i64 0
  %289 = insertelement <2 x float> %288, float %.01.i8, i64 1
  store <2 x float> %289, ptr addrspace(3) %287, align 8
  %290 = getelementptr inbounds nuw i8, ptr addrspace(3) %287, i64 256
  %291 = insertelement <2 x float> poison, float %.01.i10, i64 0
  %292 = insertelement <2 x float> %291, float %.01.i12, i64 1
  store <2 x float> %292, ptr addrspace(3) %290, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %293 = shl nuw nsw i32 %5, 5
  %294 = shl nuw nsw i32 %4, 3
  %295 = and i32 %294, 384
  %296 = and i32 %27, 24
  %297 = or disjoint i32 %293, %296
  %298 = or disjoint i32 %297, %295
  %299 = zext nneg i32 %298 to i64
  %300 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %299
  %301 = xor i64 %299, 64
  %302 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i64 %301
  %303 = getelementptr inbounds i8, ptr addrspace(3) %302, i64 512
  %304 = load <2 x i32>, ptr addrspace(3) %300, align 8
  %.extract15 = extractelement <2 x i32> %304, i64 0
  %.extract416 = extractelement <2 x i32> %304, i64 1
  %305 = load <2 x i32>, ptr addrspace(3) %303, align 8
  %.extract513 = extractelement <2 x i32> %305, i64 0
  %.extract614 = extractelement <2 x i32> %305, i64 1
  tail call void asm sideeffect "st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l"(i32 %.extract15, i32 %.extract416, i32 %.extract513, i32 %.extract614, ptr addrspace(1) %277) #1
  ret void
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.nvvm.fabs.f32(float) #6

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float) #7

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.copysign.f32(float, float) #6

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #8

attributes #0 = { convergent nocallback nofree nounwind memory(none) }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind }
attributes #4 = { convergent nocallback nofree nounwind memory(argmem: read) }
attributes #5 = { nounwind "nvvm.reqntid"="64,1,1" }
attributes #6 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #8 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #9 = { nounwind memory(none) }

!llvm.module.flags = !{!0, !28}
!nvvm.annotations = !{}
!llvm.ident = !{!1}
!nvvmir.version = !{!2}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!2 = !{i32 2, i32 0}
!3 = !{i32 21352}
!28 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
