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
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.launch.dependents() #1

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #3

; Function Attrs: convergent nocallback nounwind memory(argmem: write)
declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) writeonly captures(none), i32, i32, i32, i32) #4

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) readonly captures(none)) #5

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) #5

; Function Attrs: nounwind
define ptx_kernel void @gemm_fusion_dot(ptr noalias align 16 dereferenceable(12288) %arg0, ptr noalias align 16 dereferenceable(3072) %arg1, ptr noalias align 16 dereferenceable(9216) %arg2) local_unnamed_addr #6 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %4 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %5 = udiv i32 %4, 3
  %.zext = zext nneg i32 %5 to i64
  %6 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %7 = and i32 %6, 3
  %8 = shl nuw nsw i32 %7, 2
  %9 = and i32 %6, 7
  %10 = shl nuw nsw i32 %9, 1
  %11 = lshr i32 %6, 2
  %12 = zext nneg i32 %8 to i64
  %13 = zext nneg i32 %11 to i64
  %14 = mul i32 %5, 3
  %.decomposed = sub i32 %4, %14
  %.zext9 = zext nneg i32 %.decomposed to i64
  %15 = shl nuw nsw i32 %6, 2
  %16 = and i32 %15, 224
  %17 = or disjoint i32 %16, %10
  %18 = zext nneg i32 %17 to i64
  %.idx4 = shl nuw nsw i64 %.zext, 6
  %invariant.gep = getelementptr i8, ptr addrspace(1) %1, i64 %.idx4
  %.idx5 = mul nuw nsw i64 %13, 384
  %invariant.gep10 = getelementptr i8, ptr addrspace(1) %invariant.gep, i64 %.idx5
  %invariant.gep12 = getelementptr [4 x i8], ptr addrspace(1) %invariant.gep10, i64 %12
  %19 = shl nuw nsw i32 %6, 4
  %20 = and i32 %19, 880
  %21 = and i32 %6, 8
  %22 = icmp eq i32 %21, 0
  %23 = select i1 %22, i32 0, i32 160
  %24 = xor i32 %23, %20
  %25 = zext nneg i32 %24 to i64
  %26 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %25
  %27 = and i32 %6, 28
  %28 = shl nuw nsw i32 %6, 6
  %29 = and i32 %28, 64
  %30 = and i32 %6, 2
  %31 = icmp eq i32 %30, 0
  %32 = select i1 %31, i32 0, i32 160
  %33 = or disjoint i32 %29, %27
  %34 = or disjoint i32 %33, %32
  %35 = zext nneg i32 %34 to i64
  %36 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %35
  %37 = getelementptr inbounds nuw i8, ptr addrspace(3) %36, i64 256
  %38 = getelementptr inbounds nuw i8, ptr addrspace(3) %36, i64 512
  %39 = getelementptr inbounds nuw i8, ptr addrspace(3) %36, i64 768
  %40 = xor i32 %34, 32
  %41 = zext nneg i32 %40 to i64
  %42 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %41
  %43 = getelementptr inbounds nuw i8, ptr addrspace(3) %42, i64 256
  %44 = getelementptr inbounds nuw i8, ptr addrspace(3) %42, i64 512
  %45 = getelementptr inbounds nuw i8, ptr addrspace(3) %42, i64 768
  %.idx6 = shl nuw nsw i64 %.zext9, 10
  %46 = getelementptr i8, ptr addrspace(1) %2, i64 %.idx6
  %invariant.gep13 = getelementptr [4 x i8], ptr addrspace(1) %46, i64 %18
  %47 = shl nuw nsw i32 %6, 3
  %48 = and i32 %6, 48
  %49 = xor i32 %47, %48
  %50 = zext nneg i32 %49 to i64
  %51 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %50
  %52 = shl nuw nsw i32 %9, 6
  %53 = shl nuw nsw i32 %6, 1
  %54 = xor i32 %47, %53
  %55 = and i32 %54, 48
  %56 = or disjoint i32 %55, %52
  %57 = zext nneg i32 %56 to i64
  %58 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %57
  %59 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %invariant.gep12) #1
  %60 = extractvalue { i32, i32, i32, i32 } %59, 0
  %61 = extractvalue { i32, i32, i32, i32 } %59, 1
  %62 = extractvalue { i32, i32, i32, i32 } %59, 2
  %63 = extractvalue { i32, i32, i32, i32 } %59, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %64 = insertelement <4 x i32> poison, i32 %60, i64 0
  %65 = insertelement <4 x i32> %64, i32 %61, i64 1
  %66 = insertelement <4 x i32> %65, i32 %62, i64 2
  %67 = insertelement <4 x i32> %66, i32 %63, i64 3
  store <4 x i32> %67, ptr addrspace(3) %26, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %68 = load float, ptr addrspace(3) %36, align 4
  %69 = load float, ptr addrspace(3) %37, align 4
  %70 = load float, ptr addrspace(3) %38, align 4
  %71 = load float, ptr addrspace(3) %39, align 4
  %72 = load float, ptr addrspace(3) %42, align 4
  %73 = load float, ptr addrspace(3) %43, align 4
  %74 = load float, ptr addrspace(3) %44, align 4
  %75 = load float, ptr addrspace(3) %45, align 4
  %76 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %invariant.gep13) #1
  %77 = extractvalue { i32, i32 } %76, 0
  %78 = extractvalue { i32, i32 } %76, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %79 = insertelement <2 x i32> poison, i32 %77, i64 0
  %80 = insertelement <2 x i32> %79, i32 %78, i64 1
  store <2 x i32> %80, ptr addrspace(3) %51, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %81 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %58)
  %82 = extractvalue { i32, i32, i32, i32 } %81, 0
  %83 = extractvalue { i32, i32, i32, i32 } %81, 1
  %84 = extractvalue { i32, i32, i32, i32 } %81, 2
  %85 = extractvalue { i32, i32, i32, i32 } %81, 3
  %86 = bitcast i32 %82 to float
  %87 = bitcast i32 %83 to float
  %88 = bitcast i32 %84 to float
  %89 = bitcast i32 %85 to float
  %90 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %68) #1
  %91 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %72) #1
  %92 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %69) #1
  %93 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %73) #1
  %94 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %70) #1
  %95 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %74) #1
  %96 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %71) #1
  %97 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %75) #1
  %98 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %86) #1
  %99 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %87) #1
  %100 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %88) #1
  %101 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %89) #1
  %102 = bitcast float %90 to i32
  %103 = bitcast float %91 to i32
  %104 = bitcast float %92 to i32
  %105 = bitcast float %93 to i32
  %106 = bitcast float %94 to i32
  %107 = bitcast float %95 to i32
  %108 = bitcast float %96 to i32
  %109 = bitcast float %97 to i32
  %110 = bitcast float %98 to i32
  %111 = bitcast float %99 to i32
  %112 = bitcast float %100 to i32
  %113 = bitcast float %101 to i32
  %114 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %102, i32 %103, i32 %104, i32 %105, i32 %110, i32 %111, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00)
  %115 = extractvalue { float, float, float, float } %114, 0
  %116 = extractvalue { float, float, float, float } %114, 1
  %117 = extractvalue { float, float, float, float } %114, 2
  %118 = extractvalue { float, float, float, float } %114, 3
  %119 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %106, i32 %107, i32 %108, i32 %109, i32 %112, i32 %113, float %115, float %116, float %117, float %118)
  %120 = extractvalue { float, float, float, float } %119, 0
  %121 = extractvalue { float, float, float, float } %119, 1
  %122 = extractvalue { float, float, float, float } %119, 2
  %123 = extractvalue { float, float, float, float } %119, 3
  %gep.1 = getelementptr i8, ptr addrspace(1) %invariant.gep12, i64 6144
  %124 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %gep.1) #1
  %125 = extractvalue { i32, i32, i32, i32 } %124, 0
  %126 = extractvalue { i32, i32, i32, i32 } %124, 1
  %127 = extractvalue { i32, i32, i32, i32 } %124, 2
  %128 = extractvalue { i32, i32, i32, i32 } %124, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %129 = insertelement <4 x i32> poison, i32 %125, i64 0
  %130 = insertelement <4 x i32> %129, i32 %126, i64 1
  %131 = insertelement <4 x i32> %130, i32 %127, i64 2
  %132 = insertelement <4 x i32> %131, i32 %128, i64 3
  store <4 x i32> %132, ptr addrspace(3) %26, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %133 = load float, ptr addrspace(3) %36, align 4
  %134 = load float, ptr addrspace(3) %37, align 4
  %135 = load float, ptr addrspace(3) %38, align 4
  %136 = load float, ptr addrspace(3) %39, align 4
  %137 = load float, ptr addrspace(3) %42, align 4
  %138 = load float, ptr addrspace(3) %43, align 4
  %139 = load float, ptr addrspace(3) %44, align 4
  %140 = load float, ptr addrspace(3) %45, align 4
  %gep14.1 = getelementptr i8, ptr addrspace(1) %invariant.gep13, i64 64
  %141 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %gep14.1) #1
  %142 = extractvalue { i32, i32 } %141, 0
  %143 = extractvalue { i32, i32 } %141, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %144 = insertelement <2 x i32> poison, i32 %142, i64 0
  %145 = insertelement <2 x i32> %144, i32 %143, i64 1
  store <2 x i32> %145, ptr addrspace(3) %51, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %146 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %58)
  %147 = extractvalue { i32, i32, i32, i32 } %146, 0
  %148 = extractvalue { i32, i32, i32, i32 } %146, 1
  %149 = extractvalue { i32, i32, i32, i32 } %146, 2
  %150 = extractvalue { i32, i32, i32, i32 } %146, 3
  %151 = bitcast i32 %147 to float
  %152 = bitcast i32 %148 to float
  %153 = bitcast i32 %149 to float
  %154 = bitcast i32 %150 to float
  %155 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %133) #1
  %156 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %137) #1
  %157 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %134) #1
  %158 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %138) #1
  %159 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %135) #1
  %160 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %139) #1
  %161 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %136) #1
  %162 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %140) #1
  %163 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %151) #1
  %164 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %152) #1
  %165 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %153) #1
  %166 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %154) #1
  %167 = bitcast float %155 to i32
  %168 = bitcast float %156 to i32
  %169 = bitcast float %157 to i32
  %170 = bitcast float %158 to i32
  %171 = bitcast float %159 to i32
  %172 = bitcast float %160 to i32
  %173 = bitcast float %161 to i32
  %174 = bitcast float %162 to i32
  %175 = bitcast float %163 to i32
  %176 = bitcast float %164 to i32
  %177 = bitcast float %165 to i32
  %178 = bitcast float %166 to i32
  %179 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %167, i32 %168, i32 %169, i32 %170, i32 %175, i32 %176, float %120, float %121, float %122, float %123)
  %180 = extractvalue { float, float, float, float } %179, 0
  %181 = extractvalue { float, float, float, float } %179, 1
  %182 = extractvalue { float, float, float, float } %179, 2
  %183 = extractvalue { float, float, float, float } %179, 3
  %184 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %171, i32 %172, i32 %173, i32 %174, i32 %177, i32 %178, float %180, float %181, float %182, float %183)
  %185 = extractvalue { float, float, float, float } %184, 0
  %186 = extractvalue { float, float, float, float } %184, 1
  %187 = extractvalue { float, float, float, float } %184, 2
  %188 = extractvalue { float, float, float, float } %184, 3
  %189 = shl nuw nsw i32 %7, 1
  %190 = zext nneg i32 %189 to i64
  tail call void @llvm.nvvm.griddepcontrol.launch.dependents()
  %.idx = shl nuw nsw i64 %.zext9, 5
  %191 = getelementptr i8, ptr addrspace(1) %3, i64 %.idx
  %.idx1 = mul nuw nsw i64 %.zext, 1536
  %192 = getelementptr i8, ptr addrspace(1) %191, i64 %.idx1
  %.idx2 = mul nuw nsw i64 %13, 96
  %193 = getelementptr i8, ptr addrspace(1) %192, i64 %.idx2
  %194 = getelementptr [4 x i8], ptr addrspace(1) %193, i64 %190
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %195 = shl nuw nsw i32 %9, 4
  %196 = shl nuw nsw i32 %6, 5
  %197 = and i32 %196, 256
  %198 = and i32 %47, 128
  %199 = or disjoint i32 %195, %198
  %200 = or disjoint i32 %199, %197
  %201 = zext nneg i32 %200 to i64
  %202 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %201
  %203 = bitcast float %185 to i32
  %204 = bitcast float %186 to i32
  %205 = bitcast float %187 to i32
  %206 = bitcast float %188 to i32
  tail call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %202, i32 %203, i32 %204, i32 %205, i32 %206)
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %207 = lshr i32 %6, 1
  %208 = or i32 %207, %6
  %209 = and i32 %19, 112
  %210 = shl nuw nsw i32 %208, 3
  %211 = and i32 %210, 128
  %212 = or disjoint i32 %209, %211
  %213 = or disjoint i32 %212, %197
  %214 = zext nneg i32 %213 to i64
  %215 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %214
  %216 = tail call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %215)
  %217 = extractvalue { i32, i32 } %216, 0
  %218 = extractvalue { i32, i32 } %216, 1
  tail call void asm sideeffect "st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l"(i32 %217, i32 %218, ptr addrspace(1) %194) #1
  ret void
}

attributes #0 = { convergent nocallback nofree nounwind memory(none) }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind }
attributes #4 = { convergent nocallback nounwind memory(argmem: write) }
attributes #5 = { convergent nocallback nofree nounwind memory(argmem: read) }
attributes #6 = { nounwind "nvvm.reqntid"="64,1,1" }

!llvm.module.flags = !{!0, !1}
!nvvm.annotations = !{}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
