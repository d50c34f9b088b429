; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@global_smem = external local_unnamed_addr addrspace(3) global [0 x i8], align 16

; Function Attrs: convergent nocallback nofree nounwind memory(none)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32, i32, i32, i32, i32, i32, float, float, float, float) #0

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #3

; Function Attrs: nounwind
define ptx_kernel void @gemm_fusion_dot_2(ptr noalias align 16 dereferenceable(2048) %arg0, ptr noalias align 16 dereferenceable(1024) %arg1, ptr noalias align 16 dereferenceable(1024) %arg2, ptr noalias align 16 dereferenceable(1024) %arg3, ptr noalias align 16 dereferenceable(1024) %arg4, ptr noalias align 16 dereferenceable(2048) %arg5) local_unnamed_addr #4 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  %4 = addrspacecast ptr %arg3 to ptr addrspace(1)
  %5 = addrspacecast ptr %arg4 to ptr addrspace(1)
  %6 = addrspacecast ptr %arg5 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %7 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %8 = zext nneg i32 %7 to i64
  %9 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %10 = and i32 %9, 3
  %11 = shl nuw nsw i32 %10, 2
  %12 = and i32 %9, 60
  %13 = lshr i32 %9, 2
  %14 = zext nneg i32 %11 to i64
  %15 = zext nneg i32 %13 to i64
  %.idx = shl nuw nsw i64 %8, 6
  %16 = getelementptr i8, ptr addrspace(1) %1, i64 %.idx
  %.idx1 = shl nuw nsw i64 %15, 7
  %17 = getelementptr i8, ptr addrspace(1) %16, i64 %.idx1
  %18 = getelementptr [4 x i8], ptr addrspace(1) %17, i64 %14
  %19 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %18) #1
  %20 = extractvalue { i32, i32, i32, i32 } %19, 0
  %21 = extractvalue { i32, i32, i32, i32 } %19, 1
  %22 = extractvalue { i32, i32, i32, i32 } %19, 2
  %23 = extractvalue { i32, i32, i32, i32 } %19, 3
  %24 = shl nuw nsw i32 %9, 4
  %25 = and i32 %24, 880
  %26 = and i32 %9, 8
  %27 = icmp eq i32 %26, 0
  %28 = select i1 %27, i32 0, i32 160
  %29 = xor i32 %28, %25
  %30 = zext nneg i32 %29 to i64
  %31 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %30
  %32 = insertelement <4 x i32> poison, i32 %20, i64 0
  %33 = insertelement <4 x i32> %32, i32 %21, i64 1
  %34 = insertelement <4 x i32> %33, i32 %22, i64 2
  %35 = insertelement <4 x i32> %34, i32 %23, i64 3
  store <4 x i32> %35, ptr addrspace(3) %31, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %36 = and i32 %9, 28
  %37 = and i32 %9, 1
  %38 = shl nuw nsw i32 %37, 6
  %39 = and i32 %9, 2
  %40 = icmp eq i32 %39, 0
  %41 = select i1 %40, i32 0, i32 160
  %42 = or disjoint i32 %38, %36
  %43 = or disjoint i32 %42, %41
  %44 = zext nneg i32 %43 to i64
  %45 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %44
  %46 = load float, ptr addrspace(3) %45, align 4
  %47 = getelementptr inbounds nuw i8, ptr addrspace(3) %45, i64 256
  %48 = load float, ptr addrspace(3) %47, align 4
  %49 = getelementptr inbounds nuw i8, ptr addrspace(3) %45, i64 512
  %50 = load float, ptr addrspace(3) %49, align 4
  %51 = getelementptr inbounds nuw i8, ptr addrspace(3) %45, i64 768
  %52 = load float, ptr addrspace(3) %51, align 4
  %53 = xor i32 %43, 32
  %54 = zext nneg i32 %53 to i64
  %55 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %54
  %56 = load float, ptr addrspace(3) %55, align 4
  %57 = getelementptr inbounds nuw i8, ptr addrspace(3) %55, i64 256
  %58 = load float, ptr addrspace(3) %57, align 4
  %59 = getelementptr inbounds nuw i8, ptr addrspace(3) %55, i64 512
  %60 = load float, ptr addrspace(3) %59, align 4
  %61 = getelementptr inbounds nuw i8, ptr addrspace(3) %55, i64 768
  %62 = load float, ptr addrspace(3) %61, align 4
  %63 = shl nuw nsw i64 %15, 4
  %64 = or disjoint i64 %63, %14
  %65 = getelementptr [4 x i8], ptr addrspace(1) %5, i64 %64
  %66 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %65) #1
  %67 = extractvalue { i32, i32, i32, i32 } %66, 0
  %68 = extractvalue { i32, i32, i32, i32 } %66, 1
  %69 = extractvalue { i32, i32, i32, i32 } %66, 2
  %70 = extractvalue { i32, i32, i32, i32 } %66, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %71 = insertelement <4 x i32> poison, i32 %67, i64 0
  %72 = insertelement <4 x i32> %71, i32 %68, i64 1
  %73 = insertelement <4 x i32> %72, i32 %69, i64 2
  %74 = insertelement <4 x i32> %73, i32 %70, i64 3
  store <4 x i32> %74, ptr addrspace(3) %31, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %75 = xor i32 %41, %12
  %76 = or disjoint i32 %75, %38
  %77 = zext nneg i32 %76 to i64
  %78 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %77
  %79 = load float, ptr addrspace(3) %78, align 4
  %80 = getelementptr inbounds nuw i8, ptr addrspace(3) %78, i64 256
  %81 = load float, ptr addrspace(3) %80, align 4
  %82 = getelementptr inbounds nuw i8, ptr addrspace(3) %78, i64 512
  %83 = load float, ptr addrspace(3) %82, align 4
  %84 = getelementptr inbounds nuw i8, ptr addrspace(3) %78, i64 768
  %85 = load float, ptr addrspace(3) %84, align 4
  %86 = fmul float %79, 2.000000e+00
  %87 = fmul float %81, 2.000000e+00
  %88 = fmul float %83, 2.000000e+00
  %89 = fmul float %85, 2.000000e+00
  %90 = fmul float %86, f0x3A800000
  %91 = fmul float %87, f0x3A800000
  %92 = fmul float %88, f0x3A800000
  %93 = fmul float %89, f0x3A800000
  %94 = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %64
  %95 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %94) #1
  %96 = extractvalue { i32, i32, i32, i32 } %95, 0
  %97 = extractvalue { i32, i32, i32, i32 } %95, 1
  %98 = extractvalue { i32, i32, i32, i32 } %95, 2
  %99 = extractvalue { i32, i32, i32, i32 } %95, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %100 = insertelement <4 x i32> poison, i32 %96, i64 0
  %101 = insertelement <4 x i32> %100, i32 %97, i64 1
  %102 = insertelement <4 x i32> %101, i32 %98, i64 2
  %103 = insertelement <4 x i32> %102, i32 %99, i64 3
  store <4 x i32> %103, ptr addrspace(3) %31, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %104 = load float, ptr addrspace(3) %78, align 4
  %105 = load float, ptr addrspace(3) %80, align 4
  %106 = load float, ptr addrspace(3) %82, align 4
  %107 = load float, ptr addrspace(3) %84, align 4
  %108 = fsub float 1.000000e+00, %104
  %109 = fsub float 1.000000e+00, %105
  %110 = fsub float 1.000000e+00, %106
  %111 = fsub float 1.000000e+00, %107
  %112 = fmul float %90, %108
  %113 = fmul float %91, %109
  %114 = fmul float %92, %110
  %115 = fmul float %93, %111
  %116 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %64
  %117 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %116) #1
  %118 = extractvalue { i32, i32, i32, i32 } %117, 0
  %119 = extractvalue { i32, i32, i32, i32 } %117, 1
  %120 = extractvalue { i32, i32, i32, i32 } %117, 2
  %121 = extractvalue { i32, i32, i32, i32 } %117, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %122 = insertelement <4 x i32> poison, i32 %118, i64 0
  %123 = insertelement <4 x i32> %122, i32 %119, i64 1
  %124 = insertelement <4 x i32> %123, i32 %120, i64 2
  %125 = insertelement <4 x i32> %124, i32 %121, i64 3
  store <4 x i32> %125, ptr addrspace(3) %31, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %126 = load float, ptr addrspace(3) %78, align 4
  %127 = load float, ptr addrspace(3) %80, align 4
  %128 = load float, ptr addrspace(3) %82, align 4
  %129 = load float, ptr addrspace(3) %84, align 4
  %130 = getelementptr [4 x i8], ptr addrspace(1) %4, i64 %64
  %131 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, 0x0;\0A\09mov.u32 $1, 0x0;\0A\09mov.u32 $2, 0x0;\0A\09mov.u32 $3, 0x0;\0A\09ld.global.v4.b32 { $0, $1, $2, $3 }, [ $4 + 0 ];", "=r,=r,=r,=r,l"(ptr addrspace(1) %130) #1
  %132 = extractvalue { i32, i32, i32, i32 } %131, 0
  %133 = extractvalue { i32, i32, i32, i32 } %131, 1
  %134 = extractvalue { i32, i32, i32, i32 } %131, 2
  %135 = extractvalue { i32, i32, i32, i32 } %131, 3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %136 = insertelement <4 x i32> poison, i32 %132, i64 0
  %137 = insertelement <4 x i32> %136, i32 %133, i64 1
  %138 = insertelement <4 x i32> %137, i32 %134, i64 2
  %139 = insertelement <4 x i32> %138, i32 %135, i64 3
  store <4 x i32> %139, ptr addrspace(3) %31, align 16
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %140 = load float, ptr addrspace(3) %78, align 4
  %141 = load float, ptr addrspace(3) %80, align 4
  %142 = load float, ptr addrspace(3) %82, align 4
  %143 = load float, ptr addrspace(3) %84, align 4
  %144 = fmul float %126, %140
  %145 = fmul float %127, %141
  %146 = fmul float %128, %142
  %147 = fmul float %129, %143
  %148 = fmul float %104, %144
  %149 = fmul float %105, %145
  %150 = fmul float %106, %146
  %151 = fmul float %107, %147
  %152 = fadd float %112, %148
  %153 = fadd float %113, %149
  %154 = fadd float %114, %150
  %155 = fadd float %115, %151
  %156 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %46) #1
  %157 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %56) #1
  %158 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %48) #1
  %159 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %58) #1
  %160 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %50) #1
  %161 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %60) #1
  %162 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %52) #1
  %163 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %62) #1
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
  %180 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %168, i32 %169, i32 %170, i32 %171, i32 %176, i32 %177, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00)
  %181 = extractvalue { float, float, float, float } %180, 0
  %182 = extractvalue { float, float, float, float } %180, 1
  %183 = extractvalue { float, float, float, float } %180, 2
  %184 = extractvalue { float, float, float, float } %180, 3
  %185 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %172, i32 %173, i32 %174, i32 %175, i32 %178, i32 %179, float %181, float %182, float %183, float %184)
  %186 = extractvalue { float, float, float, float } %185, 0
  %187 = extractvalue { float, float, float, float } %185, 1
  %188 = extractvalue { float, float, float, float } %185, 2
  %189 = extractvalue { float, float, float, float } %185, 3
  %.idx2 = shl nuw nsw i64 %8, 10
  %190 = getelementptr i8, ptr addrspace(1) %6, i64 %.idx2
  %191 = getelementptr [4 x i8], ptr addrspace(1) %190, i64 %64
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %192 = shl nuw nsw i32 %9, 1
  %193 = and i32 %192, 88
  %194 = icmp eq i32 %37, 0
  %195 = select i1 %194, i32 0, i32 576
  %196 = shl nuw nsw i32 %39, 4
  %197 = shl nuw nsw i32 %9, 3
  %198 = and i32 %197, 128
  %199 = or disjoint i32 %196, %198
  %200 = xor i32 %195, %193
  %201 = or disjoint i32 %200, %199
  %202 = zext nneg i32 %201 to i64
  %203 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %202
  %204 = insertelement <2 x float> poison, float %186, i64 0
  %205 = insertelement <2 x float> %204, float %187, i64 1
  store <2 x float> %205, ptr addrspace(3) %203, align 8
  %206 = getelementptr inbounds nuw i8, ptr addrspace(3) %203, i64 256
  %207 = insertelement <2 x float> poison, float %188, i64 0
  %208 = insertelement <2 x float> %207, float %189, i64 1
  store <2 x float> %208, ptr addrspace(3) %206, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %209 = shl nuw nsw i32 %10, 5
  %210 = and i32 %197, 384
  %211 = and i32 %192, 24
  %212 = or disjoint i32 %209, %211
  %213 = or disjoint i32 %212, %210
  %214 = zext nneg i32 %213 to i64
  %215 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %214
  %216 = xor i64 %214, 64
  %217 = getelementptr inbounds i8, ptr addrspace(3) @global_smem, i64 %216
  %218 = getelementptr inbounds i8, ptr addrspace(3) %217, i64 512
  %219 = load <2 x i32>, ptr addrspace(3) %215, align 8
  %.extract11 = extractelement <2 x i32> %219, i64 0
  %.extract612 = extractelement <2 x i32> %219, i64 1
  %220 = load <2 x i32>, ptr addrspace(3) %218, align 8
  %.extract79 = extractelement <2 x i32> %220, i64 0
  %.extract810 = extractelement <2 x i32> %220, i64 1
  tail call void asm sideeffect "st.global.v4.b32 [ $4 + 0 ], { $0, $1, $2, $3 };", "r,r,r,r,l"(i32 %.extract11, i32 %.extract612, i32 %.extract79, i32 %.extract810, ptr addrspace(1) %191) #1
  ret void
}

attributes #0 = { convergent nocallback nofree nounwind memory(none) }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind }
attributes #4 = { nounwind "nvvm.reqntid"="64,1,1" }

!llvm.module.flags = !{!0, !1}
!nvvm.annotations = !{}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
