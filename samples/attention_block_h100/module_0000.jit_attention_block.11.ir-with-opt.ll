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

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #3

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) readonly captures(none)) #4

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.launch.dependents() #1

; Function Attrs: convergent nocallback nounwind memory(argmem: write)
declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) writeonly captures(none), i32, i32, i32, i32) #5

; Function Attrs: convergent nocallback nofree nounwind memory(argmem: read)
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) readonly captures(none)) #4

; Function Attrs: nounwind
define ptx_kernel void @gemm_fusion_dot_4(ptr noalias align 16 dereferenceable(3072) %arg0, ptr noalias align 16 dereferenceable(3072) %arg1, ptr noalias align 16 dereferenceable(4608) %arg2) local_unnamed_addr #6 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %4 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %5 = zext nneg i32 %4 to i64
  %6 = lshr i64 %5, 1
  %7 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %8 = lshr i32 %7, 2
  %9 = and i32 %7, 3
  %10 = shl nuw nsw i32 %9, 2
  %11 = and i32 %7, 7
  %12 = shl nuw nsw i32 %11, 1
  %13 = zext nneg i32 %8 to i64
  %14 = zext nneg i32 %10 to i64
  %15 = zext nneg i32 %12 to i64
  %16 = icmp samesign ult i32 %7, 48
  %17 = icmp samesign ult i32 %9, 2
  %18 = and i1 %16, %17
  %19 = mul nuw nsw i64 %6, 96
  %20 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %19
  %.idx = shl nuw nsw i64 %13, 5
  %21 = getelementptr i8, ptr addrspace(1) %20, i64 %.idx
  %22 = getelementptr [4 x i8], ptr addrspace(1) %21, i64 %14
  %23 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, $4;\0A\09mov.u32 $1, $5;\0A\09mov.u32 $2, $6;\0A\09mov.u32 $3, $7;\0A\09@$9 ld.global.v4.b32 { $0, $1, $2, $3 }, [ $8 + 0 ];", "=r,=r,=r,=r,r,r,r,r,l,b"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %22, i1 %18) #1
  %24 = extractvalue { i32, i32, i32, i32 } %23, 0
  %25 = extractvalue { i32, i32, i32, i32 } %23, 1
  %26 = extractvalue { i32, i32, i32, i32 } %23, 2
  %27 = extractvalue { i32, i32, i32, i32 } %23, 3
  %28 = bitcast i32 %24 to float
  %29 = bitcast i32 %25 to float
  %30 = bitcast i32 %26 to float
  %31 = bitcast i32 %27 to float
  %32 = and i64 %5, 1
  %33 = shl nuw nsw i64 %32, 3
  %34 = icmp samesign ult i32 %11, 4
  %35 = lshr i32 %7, 3
  %36 = shl nuw nsw i32 %9, 1
  %37 = zext nneg i32 %35 to i64
  %38 = zext nneg i32 %36 to i64
  %39 = sub nuw nsw i64 12, %33
  %40 = icmp samesign ugt i64 %39, %37
  %41 = icmp samesign ugt i64 %39, %38
  %42 = and i1 %34, %40
  %.idx1 = shl nuw nsw i64 %32, 8
  %43 = getelementptr i8, ptr addrspace(1) %2, i64 %.idx1
  %44 = getelementptr [4 x i8], ptr addrspace(1) %43, i64 %19
  %.idx2 = shl nuw nsw i64 %37, 5
  %45 = getelementptr i8, ptr addrspace(1) %44, i64 %.idx2
  %46 = getelementptr [4 x i8], ptr addrspace(1) %45, i64 %15
  %47 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, $2;\0A\09mov.u32 $1, $3;\0A\09@$5 ld.global.v2.b32 { $0, $1 }, [ $4 + 0 ];", "=r,=r,r,r,l,b"(i32 0, i32 0, ptr addrspace(1) %46, i1 %42) #1
  %48 = extractvalue { i32, i32 } %47, 0
  %49 = extractvalue { i32, i32 } %47, 1
  %50 = bitcast i32 %48 to float
  %51 = bitcast i32 %49 to float
  %52 = select i1 %17, float %28, float 0.000000e+00
  %53 = select i1 %17, float %29, float 0.000000e+00
  %54 = select i1 %17, float %30, float 0.000000e+00
  %55 = select i1 %17, float %31, float 0.000000e+00
  %56 = select i1 %34, float %50, float 0.000000e+00
  %57 = select i1 %34, float %51, float 0.000000e+00
  %58 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %52) #1
  %59 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %53) #1
  %60 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %54) #1
  %61 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %55) #1
  %62 = shl nuw nsw i32 %7, 4
  %63 = shl nuw nsw i32 %7, 1
  %64 = and i32 %63, 48
  %65 = xor i32 %64, %62
  %66 = zext nneg i32 %65 to i64
  %67 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %66
  %68 = insertelement <4 x float> poison, float %58, i64 0
  %69 = insertelement <4 x float> %68, float %59, i64 1
  %70 = insertelement <4 x float> %69, float %60, i64 2
  %71 = insertelement <4 x float> %70, float %61, i64 3
  store <4 x float> %71, ptr addrspace(3) %67, align 16
  %72 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %56) #1
  %73 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %57) #1
  %74 = shl nuw nsw i32 %7, 3
  %75 = and i32 %7, 48
  %76 = xor i32 %74, %75
  %77 = zext nneg i32 %76 to i64
  %78 = getelementptr i8, ptr addrspace(3) @global_smem, i64 %77
  %79 = getelementptr i8, ptr addrspace(3) %78, i64 1024
  %80 = insertelement <2 x float> poison, float %72, i64 0
  %81 = insertelement <2 x float> %80, float %73, i64 1
  store <2 x float> %81, ptr addrspace(3) %79, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %82 = shl nuw nsw i32 %7, 6
  %83 = and i32 %82, 960
  %84 = and i32 %74, 48
  %85 = and i32 %7, 16
  %86 = xor i32 %84, %85
  %87 = or disjoint i32 %86, %83
  %88 = zext nneg i32 %87 to i64
  %89 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %88
  %90 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %89)
  %91 = extractvalue { i32, i32, i32, i32 } %90, 0
  %92 = extractvalue { i32, i32, i32, i32 } %90, 1
  %93 = extractvalue { i32, i32, i32, i32 } %90, 2
  %94 = extractvalue { i32, i32, i32, i32 } %90, 3
  %95 = xor i32 %87, 32
  %96 = zext nneg i32 %95 to i64
  %97 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %96
  %98 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %97)
  %99 = extractvalue { i32, i32, i32, i32 } %98, 0
  %100 = extractvalue { i32, i32, i32, i32 } %98, 1
  %101 = extractvalue { i32, i32, i32, i32 } %98, 2
  %102 = extractvalue { i32, i32, i32, i32 } %98, 3
  %103 = shl nuw nsw i32 %11, 6
  %104 = xor i32 %84, %64
  %105 = or disjoint i32 %104, %103
  %106 = zext nneg i32 %105 to i64
  %107 = getelementptr i8, ptr addrspace(3) @global_smem, i64 %106
  %108 = getelementptr i8, ptr addrspace(3) %107, i64 1024
  %109 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %108)
  %110 = extractvalue { i32, i32, i32, i32 } %109, 0
  %111 = extractvalue { i32, i32, i32, i32 } %109, 1
  %112 = extractvalue { i32, i32, i32, i32 } %109, 2
  %113 = extractvalue { i32, i32, i32, i32 } %109, 3
  %114 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %91, i32 %92, i32 %93, i32 %94, i32 %110, i32 %111, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00)
  %115 = extractvalue { float, float, float, float } %114, 0
  %116 = extractvalue { float, float, float, float } %114, 1
  %117 = extractvalue { float, float, float, float } %114, 2
  %118 = extractvalue { float, float, float, float } %114, 3
  %119 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %99, i32 %100, i32 %101, i32 %102, i32 %112, i32 %113, float %115, float %116, float %117, float %118)
  %120 = extractvalue { float, float, float, float } %119, 0
  %121 = extractvalue { float, float, float, float } %119, 1
  %122 = extractvalue { float, float, float, float } %119, 2
  %123 = extractvalue { float, float, float, float } %119, 3
  tail call void @llvm.nvvm.griddepcontrol.launch.dependents()
  %124 = and i1 %16, %41
  %125 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %33
  %.idx3 = mul nuw nsw i64 %6, 576
  %126 = getelementptr i8, ptr addrspace(1) %125, i64 %.idx3
  %.idx4 = mul nuw nsw i64 %13, 48
  %127 = getelementptr i8, ptr addrspace(1) %126, i64 %.idx4
  %128 = getelementptr [4 x i8], ptr addrspace(1) %127, i64 %38
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %129 = shl nuw nsw i32 %11, 4
  %130 = shl nuw nsw i32 %7, 5
  %131 = and i32 %130, 256
  %132 = shl nuw nsw i32 %85, 3
  %133 = or disjoint i32 %129, %132
  %134 = or disjoint i32 %133, %131
  %135 = zext nneg i32 %134 to i64
  %136 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %135
  %137 = bitcast float %120 to i32
  %138 = bitcast float %121 to i32
  %139 = bitcast float %122 to i32
  %140 = bitcast float %123 to i32
  tail call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %136, i32 %137, i32 %138, i32 %139, i32 %140)
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %141 = lshr i32 %7, 1
  %142 = or i32 %141, %7
  %143 = and i32 %62, 112
  %144 = shl nuw nsw i32 %142, 3
  %145 = and i32 %144, 128
  %146 = or disjoint i32 %143, %145
  %147 = or disjoint i32 %146, %131
  %148 = zext nneg i32 %147 to i64
  %149 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %148
  %150 = tail call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %149)
  %151 = extractvalue { i32, i32 } %150, 0
  %152 = extractvalue { i32, i32 } %150, 1
  tail call void asm sideeffect "@$3 st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l,b"(i32 %151, i32 %152, ptr addrspace(1) %128, i1 %124) #1
  ret void
}

attributes #0 = { convergent nocallback nofree nounwind memory(none) }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nocallback nounwind }
attributes #4 = { convergent nocallback nofree nounwind memory(argmem: read) }
attributes #5 = { convergent nocallback nounwind memory(argmem: write) }
attributes #6 = { nounwind "nvvm.reqntid"="64,1,1" }

!llvm.module.flags = !{!0, !1}
!nvvm.annotations = !{}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
