; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #0

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32) #2

; Function Attrs: nounwind
define ptx_kernel void @fusion_31(ptr noalias align 16 dereferenceable(3072) %arg0, ptr noalias align 16 dereferenceable(256) %arg1, ptr noalias align 16 dereferenceable(3072) %arg2) local_unnamed_addr #3 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  %3 = addrspacecast ptr %arg2 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %4 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %5 = zext nneg i32 %4 to i64
  %6 = shl nuw nsw i64 %5, 3
  %7 = and i64 %6, 24
  %8 = tail call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %9 = and i32 %8, 7
  %10 = zext nneg i32 %9 to i64
  %11 = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %7
  %12 = getelementptr [4 x i8], ptr addrspace(1) %11, i64 %10
  %13 = getelementptr i8, ptr addrspace(1) %12, i64 128
  %14 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %13) #0
  %15 = bitcast i32 %14 to float
  %16 = lshr i64 %5, 2
  %17 = shl nuw nsw i64 %16, 5
  %18 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %7
  %19 = getelementptr [4 x i8], ptr addrspace(1) %18, i64 %17
  %20 = getelementptr [4 x i8], ptr addrspace(1) %19, i64 %10
  %21 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %20) #0
  %22 = bitcast i32 %21 to float
  %23 = zext nneg i32 %8 to i64
  %24 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %17
  %25 = getelementptr [4 x i8], ptr addrspace(1) %24, i64 %23
  %26 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %25) #0
  %27 = bitcast i32 %26 to float
  %28 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %26, i32 16, i32 31)
  %29 = bitcast i32 %28 to float
  %30 = fadd float %27, %29
  %31 = bitcast float %30 to i32
  %32 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %31, i32 8, i32 31)
  %33 = bitcast i32 %32 to float
  %34 = fadd float %30, %33
  %35 = bitcast float %34 to i32
  %36 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %35, i32 4, i32 31)
  %37 = bitcast i32 %36 to float
  %38 = fadd float %34, %37
  %39 = bitcast float %38 to i32
  %40 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %39, i32 2, i32 31)
  %41 = bitcast i32 %40 to float
  %42 = fadd float %38, %41
  %43 = bitcast float %42 to i32
  %44 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %43, i32 1, i32 31)
  %45 = bitcast i32 %44 to float
  %46 = fadd float %42, %45
  %47 = fadd float %46, 0.000000e+00
  %48 = fmul float %47, 3.125000e-02
  %49 = fsub float %22, %48
  %50 = fmul float %49, %15
  %51 = fsub float %27, %48
  %52 = fmul float %51, %51
  %53 = bitcast float %52 to i32
  %54 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %53, i32 16, i32 31)
  %55 = bitcast i32 %54 to float
  %56 = fadd float %52, %55
  %57 = bitcast float %56 to i32
  %58 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %57, i32 8, i32 31)
  %59 = bitcast i32 %58 to float
  %60 = fadd float %56, %59
  %61 = bitcast float %60 to i32
  %62 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %61, i32 4, i32 31)
  %63 = bitcast i32 %62 to float
  %64 = fadd float %60, %63
  %65 = bitcast float %64 to i32
  %66 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %65, i32 2, i32 31)
  %67 = bitcast i32 %66 to float
  %68 = fadd float %64, %67
  %69 = bitcast float %68 to i32
  %70 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %69, i32 1, i32 31)
  %71 = bitcast i32 %70 to float
  %72 = fadd float %68, %71
  %73 = fmul float %72, 3.125000e-02
  %74 = fadd float %73, f0x3727C5AC
  %75 = tail call float @llvm.nvvm.rsqrt.approx.f(float %74)
  %76 = fmul float %50, %75
  %77 = udiv i32 %4, 48
  %.zext = zext nneg i32 %77 to i64
  %.lhs.trunc2 = trunc nuw nsw i64 %16 to i32
  %78 = urem i32 %.lhs.trunc2, 12
  %79 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %7
  %80 = shl nuw nsw i32 %78, 7
  %.idx = zext nneg i32 %80 to i64
  %81 = getelementptr i8, ptr addrspace(1) %79, i64 %.idx
  %.idx1 = mul nuw nsw i64 %.zext, 1536
  %82 = getelementptr i8, ptr addrspace(1) %81, i64 %.idx1
  %83 = getelementptr [4 x i8], ptr addrspace(1) %82, i64 %10
  %84 = icmp samesign ult i32 %8, 8
  %85 = bitcast float %76 to i32
  tail call void asm sideeffect "@$2 st.global.b32 [ $1 + 0 ], { $0 };", "r,l,b"(i32 %85, ptr addrspace(1) %83, i1 %84) #0
  ret void
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.rsqrt.approx.f(float) #4

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #3 = { nounwind "nvvm.reqntid"="32,1,1" }
attributes #4 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }

!llvm.module.flags = !{!0, !28}
!nvvm.annotations = !{}
!llvm.ident = !{!1}
!nvvmir.version = !{!2}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!2 = !{i32 2, i32 0}
!28 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
