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

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) #4

; Function Attrs: nounwind
define ptx_kernel void @gemm_fusion_dot_2(ptr noalias align 16 dereferenceable(3072) %arg0, ptr noalias align 16 dereferenceable(8192) %arg1, ptr noalias align 16 dereferenceable(6144) %arg2) local_unnamed_addr #5 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %4 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %5 = zext nneg i32 %4 to i64
  %6 = shl nuw nsw i64 %5, 4
  %7 = and i64 %6, 48
  %8 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %9 = and i32 %8, 3
  %10 = shl nuw nsw i32 %9, 2
  %11 = and i32 %8, 7
  %12 = shl nuw nsw i32 %11, 1
  %13 = zext nneg i32 %12 to i64
  %14 = shl nuw nsw i32 %8, 4
  %15 = and i32 %14, 960
  %16 = or disjoint i32 %15, %10
  %17 = zext nneg i32 %16 to i64
  %18 = lshr i64 %5, 2
  %19 = lshr i32 %8, 3
  %20 = zext nneg i32 %19 to i64
  %invariant.gep = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %7
  %invariant.gep6 = getelementptr [4 x i8], ptr addrspace(1) %invariant.gep, i64 %17
  %21 = and i32 %14, 880
  %22 = and i32 %8, 8
  %23 = icmp eq i32 %22, 0
  %24 = select i1 %23, i32 0, i32 160
  %25 = xor i32 %24, %21
  %26 = zext nneg i32 %25 to i64
  %27 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %26
  %28 = and i32 %8, 28
  %29 = shl nuw nsw i32 %8, 6
  %30 = and i32 %29, 64
  %31 = and i32 %8, 2
  %32 = icmp eq i32 %31, 0
  %33 = select i1 %32, i32 0, i32 160
  %34 = or disjoint i32 %30, %28
  %35 = or disjoint i32 %34, %33
  %36 = zext nneg i32 %35 to i64
  %37 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %36
  %38 = getelementptr inbounds nuw i8, ptr addrspace(3) %37, i64 256
  %39 = getelementptr inbounds nuw i8, ptr addrspace(3) %37, i64 512
  %40 = getelementptr inbounds nuw i8, ptr addrspace(3) %37, i64 768
  %41 = xor i32 %35, 32
  %42 = zext nneg i32 %41 to i64
  %43 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %42
  %44 = getelementptr inbounds nuw i8, ptr addrspace(3) %43, i64 256
  %45 = getelementptr inbounds nuw i8, ptr addrspace(3) %43, i64 512
  %46 = getelementptr inbounds nuw i8, ptr addrspace(3) %43, i64 768
  %.idx3 = shl nuw nsw i64 %18, 10
  %47 = getelementptr i8, ptr addrspace(1) %1, i64 %.idx3
  %.idx5 = shl nuw nsw i64 %20, 7
  %invariant.gep8 = getelementptr i8, ptr addrspace(1) %47, i64 %.idx5
  %invariant.gep9 = getelementptr [4 x i8], ptr addrspace(1) %invariant.gep8, i64 %13
  %48 = shl nuw nsw i32 %8, 3
  %49 = and i32 %8, 48
  %50 = xor i32 %48, %49
  %51 = zext nneg i32 %50 to i64
  %52 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %51
  %53 = shl nuw nsw i32 %11, 6
  %54 = shl nuw nsw i32 %8, 1
  %55 = xor i32 %48, %54
  %56 = and i32 %55, 48
  %57 = or disjoint i32 %56, %53
  %58 = zext nneg i32 %57 to i64
  %59 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %58
  %60 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %invariant.gep6) #1
  %61 = extractvalue { i32, i32, i32, i32 } %60, 0
  %62 = extractvalue { i32, i32, i32, i32 } %60, 1
  %63 = extractvalue { i32, i32, i32, i32 } %60, 2
  %64 = extractvalue { i32, i32, i32, i32 } %60, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %65 = insertelement <4 x i32> poison, i32 %61, i64 0
  %66 = insertelement <4 x i32> %65, i32 %62, i64 1
  %67 = insertelement <4 x i32> %66, i32 %63, i64 2
  %68 = insertelement <4 x i32> %67, i32 %64, i64 3
  store <4 x i32> %68, ptr addrspace(3) %27, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %69 = load float, ptr addrspace(3) %37, align 4
  %70 = load float, ptr addrspace(3) %38, align 4
  %71 = load float, ptr addrspace(3) %39, align 4
  %72 = load float, ptr addrspace(3) %40, align 4
  %73 = load float, ptr addrspace(3) %43, align 4
  %74 = load float, ptr addrspace(3) %44, align 4
  %75 = load float, ptr addrspace(3) %45, align 4
  %76 = load float, ptr addrspace(3) %46, align 4
  %77 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %invariant.gep9) #1
  %78 = extractvalue { i32, i32 } %77, 0
  %79 = extractvalue { i32, i32 } %77, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %80 = insertelement <2 x i32> poison, i32 %78, i64 0
  %81 = insertelement <2 x i32> %80, i32 %79, i64 1
  store <2 x i32> %81, ptr addrspace(3) %52, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %82 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %59)
  %83 = extractvalue { i32, i32, i32, i32 } %82, 0
  %84 = extractvalue { i32, i32, i32, i32 } %82, 1
  %85 = extractvalue { i32, i32, i32, i32 } %82, 2
  %86 = extractvalue { i32, i32, i32, i32 } %82, 3
  %87 = bitcast i32 %83 to float
  %88 = bitcast i32 %84 to float
  %89 = bitcast i32 %85 to float
  %90 = bitcast i32 %86 to float
  %91 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %69) #1
  %92 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %73) #1
  %93 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %70) #1
  %94 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %74) #1
  %95 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %71) #1
  %96 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %75) #1
  %97 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %72) #1
  %98 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %76) #1
  %99 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %87) #1
  %100 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %88) #1
  %101 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %89) #1
  %102 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %90) #1
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
  %114 = bitcast float %102 to i32
  %115 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %103, i32 %104, i32 %105, i32 %106, i32 %111, i32 %112, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00)
  %116 = extractvalue { float, float, float, float } %115, 0
  %117 = extractvalue { float, float, float, float } %115, 1
  %118 = extractvalue { float, float, float, float } %115, 2
  %119 = extractvalue { float, float, float, float } %115, 3
  %120 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %107, i32 %108, i32 %109, i32 %110, i32 %113, i32 %114, float %116, float %117, float %118, float %119)
  %121 = extractvalue { float, float, float, float } %120, 0
  %122 = extractvalue { float, float, float, float } %120, 1
  %123 = extractvalue { float, float, float, float } %120, 2
  %124 = extractvalue { float, float, float, float } %120, 3
  %gep7.1 = getelementptr i8, ptr addrspace(1) %invariant.gep6, i64 4096
  %125 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %gep7.1) #1
  %126 = extractvalue { i32, i32, i32, i32 } %125, 0
  %127 = extractvalue { i32, i32, i32, i32 } %125, 1
  %128 = extractvalue { i32, i32, i32, i32 } %125, 2
  %129 = extractvalue { i32, i32, i32, i32 } %125, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %130 = insertelement <4 x i32> poison, i32 %126, i64 0
  %131 = insertelement <4 x i32> %130, i32 %127, i64 1
  %132 = insertelement <4 x i32> %131, i32 %128, i64 2
  %133 = insertelement <4 x i32> %132, i32 %129, i64 3
  store <4 x i32> %133, ptr addrspace(3) %27, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %134 = load float, ptr addrspace(3) %37, align 4
  %135 = load float, ptr addrspace(3) %38, align 4
  %136 = load float, ptr addrspace(3) %39, align 4
  %137 = load float, ptr addrspace(3) %40, align 4
  %138 = load float, ptr addrspace(3) %43, align 4
  %139 = load float, ptr addrspace(3) %44, align 4
  %140 = load float, ptr addrspace(3) %45, align 4
  %141 = load float, ptr addrspace(3) %46, align 4
  %gep10.1 = getelementptr i8, ptr addrspace(1) %invariant.gep9, i64 64
  %142 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09ld.global.v2.b32 { $0, $1 }, [ $2 + 0 ];", "=r,=r,l"(ptr addrspace(1) %gep10.1) #1
  %143 = extractvalue { i32, i32 } %142, 0
  %144 = extractvalue { i32, i32 } %142, 1
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %145 = insertelement <2 x i32> poison, i32 %143, i64 0
  %146 = insertelement <2 x i32> %145, i32 %144, i64 1
  store <2 x i32> %146, ptr addrspace(3) %52, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %147 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %59)
  %148 = extractvalue { i32, i32, i32, i32 } %147, 0
  %149 = extractvalue { i32, i32, i32, i32 } %147, 1
  %150 = extractvalue { i32, i32, i32, i32 } %147, 2
  %151 = extractvalue { i32, i32, i32, i32 } %147, 3
  %152 = bitcast i32 %148 to float
  %153 = bitcast i32 %149 to float
  %154 = bitcast i32 %150 to float
  %155 = bitcast i32 %151 to float
  %156 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %134) #1
  %157 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %138) #1
  %158 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %135) #1
  %159 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %139) #1
  %160 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %136) #1
  %161 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %140) #1
  %162 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %137) #1
  %163 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %141) #1
  %164 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %152) #1
  %165 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %153) #1
  %166 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %154) #1
  %167 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %155) #1
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
  %179 = bitcast float %167 to i32
  %180 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %168, i32 %169, i32 %170, i32 %171, i32 %176, i32 %177, float %121, float %122, float %123, float %124)
  %181 = extractvalue { float, float, float, float } %180, 0
  %182 = extractvalue { float, float, float, float } %180, 1
  %183 = extractvalue { float, float, float, float } %180, 2
  %184 = extractvalue { float, float, float, float } %180, 3
  %185 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %172, i32 %173, i32 %174, i32 %175, i32 %178, i32 %179, float %181, float %182, float %183, float %184)
  %186 = extractvalue { float, float, float, float } %185, 0
  %187 = extractvalue { float, float, float, float } %185, 1
  %188 = extractvalue { float, float, float, float } %185, 2
  %189 = extractvalue { float, float, float, float } %185, 3
  tail call void @llvm.nvvm.griddepcontrol.launch.dependents()
  %190 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %7
  %.idx = shl nuw nsw i64 %18, 11
  %191 = getelementptr i8, ptr addrspace(1) %190, i64 %.idx
  %.idx1 = shl nuw nsw i64 %20, 8
  %192 = getelementptr i8, ptr addrspace(1) %191, i64 %.idx1
  %193 = getelementptr [4 x i8], ptr addrspace(1) %192, i64 %13
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %194 = shl nuw nsw i32 %9, 3
  %195 = shl nuw nsw i32 %8, 2
  %196 = and i32 %195, 96
  %197 = and i32 %8, 4
  %198 = icmp eq i32 %197, 0
  %199 = select i1 %198, i32 0, i32 260
  %200 = or disjoint i32 %194, %196
  %201 = or disjoint i32 %199, %200
  %202 = zext nneg i32 %201 to i64
  %203 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %202
  store float %186, ptr addrspace(3) %203, align 4
  %204 = xor i64 %202, 16
  %205 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i64 %204
  %206 = getelementptr inbounds i8, ptr addrspace(3) %205, i64 128
  store float %187, ptr addrspace(3) %206, align 4
  %207 = xor i32 %201, 4
  %208 = zext nneg i32 %207 to i64
  %209 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %208
  store float %188, ptr addrspace(3) %209, align 4
  %210 = xor i64 %202, 20
  %211 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i64 %210
  %212 = getelementptr inbounds i8, ptr addrspace(3) %211, i64 128
  store float %189, ptr addrspace(3) %212, align 4
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %213 = shl nuw nsw i32 %9, 5
  %214 = lshr i32 %8, 1
  %215 = and i32 %214, 24
  %216 = select i1 %23, i32 0, i32 144
  %217 = or disjoint i32 %213, %215
  %218 = xor i32 %217, %216
  %219 = or disjoint i32 %218, %197
  %220 = zext nneg i32 %219 to i64
  %221 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %220
  %222 = load i32, ptr addrspace(3) %221, align 4
  %223 = xor i64 %220, 4
  %224 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i64 %223
  %225 = getelementptr inbounds i8, ptr addrspace(3) %224, i64 256
  %226 = load i32, ptr addrspace(3) %225, align 4
  tail call void asm sideeffect "st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l"(i32 %222, i32 %226, ptr addrspace(1) %193) #1
  ret void
}

attributes #0 = { convergent nocallback nofree nounwind memory(none) }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind }
attributes #4 = { convergent nocallback nofree nounwind memory(argmem: read) }
attributes #5 = { nounwind "nvvm.reqntid"="64,1,1" }

!llvm.module.flags = !{!0, !1}
!nvvm.annotations = !{}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
