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
define ptx_kernel void @gemm_fusion_dot_5(ptr noalias align 16 dereferenceable(4608) %arg0, ptr noalias align 16 dereferenceable(3072) %arg1, ptr noalias align 16 dereferenceable(3072) %arg2) local_unnamed_addr #6 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %4 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %5 = zext nneg i32 %4 to i64
  %6 = lshr i64 %5, 1
  %7 = tail call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %8 = and i32 %7, 3
  %9 = shl nuw nsw i32 %8, 2
  %10 = lshr i32 %7, 2
  %11 = and i32 %7, 7
  %12 = shl nuw nsw i32 %11, 1
  %13 = zext nneg i32 %9 to i64
  %14 = zext nneg i32 %10 to i64
  %15 = zext nneg i32 %12 to i64
  %16 = icmp samesign ult i32 %8, 2
  %17 = icmp samesign ult i32 %7, 32
  %18 = icmp samesign ult i32 %7, 48
  %19 = and i1 %18, %16
  %20 = mul nuw nsw i64 %6, 96
  %21 = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %20
  %.idx = shl nuw nsw i64 %14, 5
  %22 = getelementptr i8, ptr addrspace(1) %21, i64 %.idx
  %23 = getelementptr [4 x i8], ptr addrspace(1) %22, i64 %13
  %24 = tail call { i32, i32, i32, i32 } asm sideeffect "mov.u32 $0, $4;\0A\09mov.u32 $1, $5;\0A\09mov.u32 $2, $6;\0A\09mov.u32 $3, $7;\0A\09@$9 ld.global.v4.b32 { $0, $1, $2, $3 }, [ $8 + 0 ];", "=r,=r,=r,=r,r,r,r,r,l,b"(i32 0, i32 0, i32 0, i32 0, ptr addrspace(1) %23, i1 %19) #1
  %25 = extractvalue { i32, i32, i32, i32 } %24, 0
  %26 = extractvalue { i32, i32, i32, i32 } %24, 1
  %27 = extractvalue { i32, i32, i32, i32 } %24, 2
  %28 = extractvalue { i32, i32, i32, i32 } %24, 3
  %29 = bitcast i32 %25 to float
  %30 = bitcast i32 %26 to float
  %31 = bitcast i32 %27 to float
  %32 = bitcast i32 %28 to float
  %33 = and i64 %5, 1
  %34 = shl nuw nsw i64 %33, 3
  %35 = icmp samesign ult i32 %11, 6
  %36 = lshr i32 %7, 3
  %37 = shl nuw nsw i32 %8, 1
  %38 = zext nneg i32 %36 to i64
  %39 = zext nneg i32 %37 to i64
  %40 = sub nuw nsw i64 12, %34
  %41 = icmp samesign ugt i64 %40, %38
  %42 = icmp samesign ugt i64 %40, %39
  %43 = and i1 %35, %41
  %.idx1 = mul nuw nsw i64 %33, 384
  %44 = getelementptr i8, ptr addrspace(1) %1, i64 %.idx1
  %.idx2 = mul nuw nsw i64 %6, 576
  %45 = getelementptr i8, ptr addrspace(1) %44, i64 %.idx2
  %.idx3 = mul nuw nsw i64 %38, 48
  %46 = getelementptr i8, ptr addrspace(1) %45, i64 %.idx3
  %47 = getelementptr [4 x i8], ptr addrspace(1) %46, i64 %15
  %48 = tail call { i32, i32 } asm sideeffect "mov.u32 $0, $2;\0A\09mov.u32 $1, $3;\0A\09@$5 ld.global.v2.b32 { $0, $1 }, [ $4 + 0 ];", "=r,=r,r,r,l,b"(i32 0, i32 0, ptr addrspace(1) %47, i1 %43) #1
  %49 = extractvalue { i32, i32 } %48, 0
  %50 = extractvalue { i32, i32 } %48, 1
  %51 = bitcast i32 %49 to float
  %52 = bitcast i32 %50 to float
  %53 = select i1 %18, float %29, float 0.000000e+00
  %54 = select i1 %18, float %30, float 0.000000e+00
  %55 = select i1 %18, float %31, float 0.000000e+00
  %56 = select i1 %18, float %32, float 0.000000e+00
  %57 = select i1 %35, float %51, float 0.000000e+00
  %58 = select i1 %35, float %52, float 0.000000e+00
  %59 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %53) #1
  %60 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %54) #1
  %61 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %55) #1
  %62 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %56) #1
  %63 = shl nuw nsw i32 %7, 4
  %64 = and i32 %63, 880
  %65 = and i32 %7, 8
  %66 = icmp eq i32 %65, 0
  %67 = select i1 %66, i32 0, i32 160
  %68 = xor i32 %67, %64
  %69 = zext nneg i32 %68 to i64
  %70 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %69
  %71 = insertelement <4 x float> poison, float %59, i64 0
  %72 = insertelement <4 x float> %71, float %60, i64 1
  %73 = insertelement <4 x float> %72, float %61, i64 2
  %74 = insertelement <4 x float> %73, float %62, i64 3
  store <4 x float> %74, ptr addrspace(3) %70, align 16
  %75 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %57) #1
  %76 = tail call float asm "cvt.rna.tf32.f32 $0, $1;", "=r,r"(float %58) #1
  %77 = shl nuw nsw i32 %7, 3
  %78 = and i32 %7, 48
  %79 = xor i32 %77, %78
  %80 = zext nneg i32 %79 to i64
  %81 = getelementptr i8, ptr addrspace(3) @global_smem, i64 %80
  %82 = getelementptr i8, ptr addrspace(3) %81, i64 1024
  %83 = insertelement <2 x float> poison, float %75, i64 0
  %84 = insertelement <2 x float> %83, float %76, i64 1
  store <2 x float> %84, ptr addrspace(3) %82, align 8
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %85 = and i32 %7, 28
  %86 = shl nuw nsw i32 %7, 6
  %87 = and i32 %86, 64
  %88 = and i32 %7, 2
  %89 = icmp eq i32 %88, 0
  %90 = select i1 %89, i32 0, i32 160
  %91 = or disjoint i32 %87, %85
  %92 = or disjoint i32 %91, %90
  %93 = zext nneg i32 %92 to i64
  %94 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %93
  %95 = load i32, ptr addrspace(3) %94, align 4
  %96 = getelementptr inbounds nuw i8, ptr addrspace(3) %94, i64 256
  %97 = load i32, ptr addrspace(3) %96, align 4
  %98 = getelementptr inbounds nuw i8, ptr addrspace(3) %94, i64 512
  %99 = load i32, ptr addrspace(3) %98, align 4
  %100 = getelementptr inbounds nuw i8, ptr addrspace(3) %94, i64 768
  %101 = load i32, ptr addrspace(3) %100, align 4
  %102 = xor i32 %92, 32
  %103 = zext nneg i32 %102 to i64
  %104 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %103
  %105 = load i32, ptr addrspace(3) %104, align 4
  %106 = getelementptr inbounds nuw i8, ptr addrspace(3) %104, i64 256
  %107 = load i32, ptr addrspace(3) %106, align 4
  %108 = getelementptr inbounds nuw i8, ptr addrspace(3) %104, i64 512
  %109 = load i32, ptr addrspace(3) %108, align 4
  %110 = getelementptr inbounds nuw i8, ptr addrspace(3) %104, i64 768
  %111 = load i32, ptr addrspace(3) %110, align 4
  %112 = shl nuw nsw i32 %11, 6
  %113 = shl nuw nsw i32 %7, 1
  %114 = xor i32 %77, %113
  %115 = and i32 %114, 48
  %116 = or disjoint i32 %115, %112
  %117 = zext nneg i32 %116 to i64
  %118 = getelementptr i8, ptr addrspace(3) @global_smem, i64 %117
  %119 = getelementptr i8, ptr addrspace(3) %118, i64 1024
  %120 = tail call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %119)
  %121 = extractvalue { i32, i32, i32, i32 } %120, 0
  %122 = extractvalue { i32, i32, i32, i32 } %120, 1
  %123 = extractvalue { i32, i32, i32, i32 } %120, 2
  %124 = extractvalue { i32, i32, i32, i32 } %120, 3
  %125 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %95, i32 %105, i32 %97, i32 %107, i32 %121, i32 %122, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00, float 0.000000e+00)
  %126 = extractvalue { float, float, float, float } %125, 0
  %127 = extractvalue { float, float, float, float } %125, 1
  %128 = extractvalue { float, float, float, float } %125, 2
  %129 = extractvalue { float, float, float, float } %125, 3
  %130 = tail call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %99, i32 %109, i32 %101, i32 %111, i32 %123, i32 %124, float %126, float %127, float %128, float %129)
  %131 = extractvalue { float, float, float, float } %130, 0
  %132 = extractvalue { float, float, float, float } %130, 1
  %133 = extractvalue { float, float, float, float } %130, 2
  %134 = extractvalue { float, float, float, float } %130, 3
  tail call void @llvm.nvvm.griddepcontrol.launch.dependents()
  %135 = and i1 %17, %42
  %136 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %34
  %137 = getelementptr [4 x i8], ptr addrspace(1) %136, i64 %20
  %.idx4 = mul nuw nsw i64 %14, 48
  %138 = getelementptr i8, ptr addrspace(1) %137, i64 %.idx4
  %139 = getelementptr [4 x i8], ptr addrspace(1) %138, i64 %39
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %140 = shl nuw nsw i32 %11, 4
  %141 = shl nuw nsw i32 %65, 5
  %142 = and i32 %77, 128
  %143 = or disjoint i32 %140, %141
  %144 = or disjoint i32 %143, %142
  %145 = zext nneg i32 %144 to i64
  %146 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %145
  %147 = bitcast float %131 to i32
  %148 = bitcast float %132 to i32
  %149 = bitcast float %133 to i32
  %150 = bitcast float %134 to i32
  tail call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %146, i32 %147, i32 %148, i32 %149, i32 %150)
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %151 = lshr i32 %7, 1
  %152 = or i32 %151, %7
  %153 = and i32 %63, 112
  %154 = shl nuw nsw i32 %7, 5
  %155 = and i32 %154, 256
  %156 = shl nuw nsw i32 %152, 3
  %157 = and i32 %156, 128
  %158 = or disjoint i32 %153, %155
  %159 = or disjoint i32 %158, %157
  %160 = zext nneg i32 %159 to i64
  %161 = getelementptr inbounds nuw i8, ptr addrspace(3) @global_smem, i64 %160
  %162 = tail call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %161)
  %163 = extractvalue { i32, i32 } %162, 0
  %164 = extractvalue { i32, i32 } %162, 1
  tail call void asm sideeffect "@$3 st.global.v2.b32 [ $2 + 0 ], { $0, $1 };", "r,r,l,b"(i32 %163, i32 %164, ptr addrspace(1) %139, i1 %135) #1
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
