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

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maximum.f32(float, float) #3

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.div.full(float, float) #4

; Function Attrs: nounwind
define ptx_kernel void @triton_softmax_5(ptr noalias align 16 dereferenceable(4608) %arg0, ptr noalias align 16 dereferenceable(4608) %arg1) local_unnamed_addr #5 {
  %1 = addrspacecast ptr %arg0 to ptr addrspace(1)
  %2 = addrspacecast ptr %arg1 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %3 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %4 = udiv i32 %3, 12
  %5 = mul i32 %4, 12
  %.decomposed = sub i32 %3, %5
  %6 = tail call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %7 = and i32 %6, 15
  %.not = icmp samesign ugt i32 %7, %.decomposed
  %.zext4 = zext nneg i32 %4 to i64
  %8 = zext nneg i32 %7 to i64
  %9 = icmp samesign ult i32 %7, 12
  %narrow = mul nuw nsw i32 %.decomposed, 12
  %10 = zext nneg i32 %narrow to i64
  %11 = getelementptr [4 x i8], ptr addrspace(1) %1, i64 %10
  %.idx = mul nuw nsw i64 %.zext4, 576
  %12 = getelementptr i8, ptr addrspace(1) %11, i64 %.idx
  %13 = getelementptr [4 x i8], ptr addrspace(1) %12, i64 %8
  %14 = tail call i32 asm sideeffect "mov.u32 $0, $1;\0A\09@$3 ld.global.b32 { $0 }, [ $2 + 0 ];", "=r,r,l,b"(i32 0, ptr addrspace(1) %13, i1 %9) #0
  %15 = bitcast i32 %14 to float
  %16 = fmul float %15, f0x3EB504F3
  %17 = select i1 %.not, float -inf, float %16
  %18 = select i1 %9, float %17, float -inf
  %19 = bitcast float %18 to i32
  %20 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %19, i32 8, i32 31)
  %21 = bitcast i32 %20 to float
  %22 = tail call float @llvm.maximum.f32(float %18, float %21)
  %23 = bitcast float %22 to i32
  %24 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %23, i32 4, i32 31)
  %25 = bitcast i32 %24 to float
  %26 = tail call float @llvm.maximum.f32(float %22, float %25)
  %27 = bitcast float %26 to i32
  %28 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %27, i32 2, i32 31)
  %29 = bitcast i32 %28 to float
  %30 = tail call float @llvm.maximum.f32(float %26, float %29)
  %31 = bitcast float %30 to i32
  %32 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %31, i32 1, i32 31)
  %33 = bitcast i32 %32 to float
  %34 = tail call float @llvm.maximum.f32(float %30, float %33)
  %35 = fsub float %17, %34
  %36 = tail call float @llvm.fma.f32(float %35, float 5.724980e-03, float 5.000000e-01)
  %37 = tail call float @llvm.nvvm.saturate.f(float %36) #0
  %38 = tail call float @llvm.nvvm.fma.rm.f(float %37, float 2.520000e+02, float f0x4B400001) #0
  %39 = fadd float %38, f0xCB40007F
  %40 = fneg float %39
  %41 = tail call float @llvm.fma.f32(float %35, float f0x3FB8AA3B, float %40)
  %42 = tail call float @llvm.fma.f32(float %35, float f0x32A57060, float %41)
  %43 = bitcast float %38 to i32
  %44 = shl i32 %43, 23
  %45 = bitcast i32 %44 to float
  %46 = tail call float @llvm.nvvm.ex2.approx.ftz.f32(float %42)
  %47 = fmul float %46, %45
  %48 = select i1 %9, float %47, float 0.000000e+00
  %49 = bitcast float %48 to i32
  %50 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %49, i32 8, i32 31)
  %51 = bitcast i32 %50 to float
  %52 = fadd float %48, %51
  %53 = bitcast float %52 to i32
  %54 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %53, i32 4, i32 31)
  %55 = bitcast i32 %54 to float
  %56 = fadd float %52, %55
  %57 = bitcast float %56 to i32
  %58 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %57, i32 2, i32 31)
  %59 = bitcast i32 %58 to float
  %60 = fadd float %56, %59
  %61 = bitcast float %60 to i32
  %62 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %61, i32 1, i32 31)
  %63 = bitcast i32 %62 to float
  %64 = fadd float %60, %63
  %65 = fadd float %64, 0.000000e+00
  %66 = tail call float @llvm.nvvm.div.full(float %47, float %65)
  %67 = udiv i32 %3, 48
  %.zext6 = zext nneg i32 %67 to i64
  %68 = and i64 %.zext4, 3
  %69 = getelementptr [4 x i8], ptr addrspace(1) %2, i64 %10
  %.idx1 = mul nuw nsw i64 %68, 576
  %70 = getelementptr i8, ptr addrspace(1) %69, i64 %.idx1
  %.idx2 = mul nuw nsw i64 %.zext6, 2304
  %71 = getelementptr i8, ptr addrspace(1) %70, i64 %.idx2
  %72 = getelementptr [4 x i8], ptr addrspace(1) %71, i64 %8
  %73 = icmp samesign ult i32 %6, 16
  %74 = bitcast float %66 to i32
  %75 = and i1 %73, %9
  tail call void asm sideeffect "@$2 st.global.b32 [ $1 + 0 ], { $0 };", "r,l,b"(i32 %74, ptr addrspace(1) %72, i1 %75) #0
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

attributes #0 = { nounwind }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #3 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind willreturn memory(none) }
attributes #5 = { nounwind "nvvm.reqntid"="32,1,1" }
attributes #6 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #7 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !28}
!nvvm.annotations = !{}
!llvm.ident = !{!1}
!nvvmir.version = !{!2}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!2 = !{i32 2, i32 0}
!28 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
