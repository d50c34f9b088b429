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
define ptx_kernel void @fusion_32(ptr noalias align 16 dereferenceable(3072) %arg0, ptr noalias align 16 dereferenceable(256) %arg1, ptr noalias align 16 dereferenceable(3072) %arg2) local_unnamed_addr #3 {
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
  %13 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %12) #0
  %14 = bitcast i32 %13 to float
  %15 = udiv i32 %4, 48
  %.zext = zext nneg i32 %15 to i64
  %.lhs.trunc1 = lshr i32 %4, 2
  %16 = urem i32 %.lhs.trunc1, 12
  %17 = mul nuw nsw i64 %.zext, 384
  %18 = shl nuw nsw i32 %16, 5
  %19 = zext nneg i32 %18 to i64
  %20 = add nuw nsw i64 %17, %19
  %21 = or disjoint i64 %20, %7
  %22 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %21
  %23 = getelementptr [4 x i8], ptr addrspace(1) %22, i64 %10
  %24 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %23) #0
  %25 = bitcast i32 %24 to float
  %26 = zext nneg i32 %8 to i64
  %27 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %20
  %28 = getelementptr [4 x i8], ptr addrspace(1) %27, i64 %26
  %29 = tail call i32 asm sideeffect "mov.u32 $0, 0x0;\0A\09ld.global.b32 { $0 }, [ $1 + 0 ];", "=r,l"(ptr addrspace(1) %28) #0
  %30 = bitcast i32 %29 to float
  %31 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %29, i32 16, i32 31)
  %32 = bitcast i32 %31 to float
  %33 = fadd float %30, %32
  %34 = bitcast float %33 to i32
  %35 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %34, i32 8, i32 31)
  %36 = bitcast i32 %35 to float
  %37 = fadd float %33, %36
  %38 = bitcast float %37 to i32
  %39 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %38, i32 4, i32 31)
  %40 = bitcast i32 %39 to float
  %41 = fadd float %37, %40
  %42 = bitcast float %41 to i32
  %43 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %42, i32 2, i32 31)
  %44 = bitcast i32 %43 to float
  %45 = fadd float %41, %44
  %46 = bitcast float %45 to i32
  %47 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %46, i32 1, i32 31)
  %48 = bitcast i32 %47 to float
  %49 = fadd float %45, %48
  %50 = fadd float %49, 0.000000e+00
  %51 = fmul float %50, 3.125000e-02
  %52 = fsub float %25, %51
  %53 = fmul float %52, %14
  %54 = fsub float %30, %51
  %55 = fmul float %54, %54
  %56 = bitcast float %55 to i32
  %57 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %56, i32 16, i32 31)
  %58 = bitcast i32 %57 to float
  %59 = fadd float %55, %58
  %60 = bitcast float %59 to i32
  %61 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %60, i32 8, i32 31)
  %62 = bitcast i32 %61 to float
  %63 = fadd float %59, %62
  %64 = bitcast float %63 to i32
  %65 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %64, i32 4, i32 31)
  %66 = bitcast i32 %65 to float
  %67 = fadd float %63, %66
  %68 = bitcast float %67 to i32
  %69 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %68, i32 2, i32 31)
  %70 = bitcast i32 %69 to float
  %71 = fadd float %67, %70
  %72 = bitcast float %71 to i32
  %73 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %72, i32 1, i32 31)
  %74 = bitcast i32 %73 to float
  %75 = fadd float %71, %74
  %76 = fmul float %75, 3.125000e-02
  %77 = fadd float %76, f0x3727C5AC
  %78 = tail call float @llvm.nvvm.rsqrt.approx.f(float %77)
  %79 = fmul float %53, %78
  %80 = getelementptr [4 x i8], ptr addrspace(1) %3, i64 %21
  %81 = getelementptr [4 x i8], ptr addrspace(1) %80, i64 %10
  %82 = icmp samesign ult i32 %8, 8
  %83 = bitcast float %79 to i32
  tail call void asm sideeffect "@$2 st.global.b32 [ $1 + 0 ], { $0 };", "r,l,b"(i32 %83, ptr addrspace(1) %81, i1 %82) #0
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
