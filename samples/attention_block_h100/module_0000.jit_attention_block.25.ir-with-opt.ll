; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nounwind
define ptx_kernel void @loop_multiply_fusion(ptr noalias nofree align 256 captures(none) dereferenceable(6144) %0, ptr noalias nofree readnone align 256 captures(none) dereferenceable(6144) %1) local_unnamed_addr #0 {
  %3 = addrspacecast ptr %0 to ptr addrspace(1)
  tail call void @llvm.nvvm.griddepcontrol.wait()
  %4 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !range !1
  %5 = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !2
  %6 = shl nuw nsw i32 %4, 7
  %7 = or disjoint i32 %6, %5
  %8 = zext nneg i32 %7 to i64
  %9 = getelementptr inbounds [4 x i8], ptr addrspace(1) %3, i64 %8
  %10 = load float, ptr addrspace(1) %9, align 4
  %11 = fmul float %10, %10
  %12 = fmul float %10, %11
  %13 = fmul float %12, 4.471500e-02
  %14 = fadd float %10, %13
  %15 = fmul float %14, f0x3F4C422A
  %.inv = fcmp oge float %15, f0x40FFF644
  %16 = select i1 %.inv, float f0x40FFF644, float %15
  %.inv1 = fcmp ole float %16, f0xC0FFF644
  %17 = select i1 %.inv1, float f0xC0FFF644, float %16
  %18 = tail call float @llvm.nvvm.fabs.f32(float %15)
  %19 = fcmp olt float %18, 4.000000e-04
  %20 = fmul float %17, %17
  %21 = tail call float @llvm.fma.f32(float %20, float f0xA59F25C0, float f0x2A61337E)
  %22 = tail call float @llvm.fma.f32(float %20, float %21, float f0xAEBD37FF)
  %23 = tail call float @llvm.fma.f32(float %20, float %22, float f0x335C0041)
  %24 = tail call float @llvm.fma.f32(float %20, float %23, float f0x3779434A)
  %25 = tail call float @llvm.fma.f32(float %20, float %24, float f0x3A270DED)
  %26 = tail call float @llvm.fma.f32(float %20, float %25, float f0x3BA059DC)
  %27 = fmul float %17, %26
  %28 = tail call float @llvm.fma.f32(float %20, float f0x35A0D3D8, float f0x38F895D6)
  %29 = tail call float @llvm.fma.f32(float %20, float %28, float f0x3B14AA05)
  %30 = tail call float @llvm.fma.f32(float %20, float %29, float f0x3BA059DD)
  %31 = fdiv float %27, %30
  %32 = select i1 %19, float %17, float %31
  %33 = fadd float %32, 1.000000e+00
  %34 = fmul float %33, 5.000000e-01
  %35 = fmul float %10, %34
  store float %35, ptr addrspace(1) %9, align 4
  ret void
}

; Function Attrs: nounwind
declare void @llvm.nvvm.griddepcontrol.wait() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.nvvm.fabs.f32(float) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #4

attributes #0 = { nounwind "nvvm.reqntid"="128,1,1" }
attributes #1 = { nounwind }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.module.flags = !{!0, !30}
!llvm.ident = !{!3}
!nvvmir.version = !{!4}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 0, i32 12}
!2 = !{i32 0, i32 128}
!3 = !{!"clang version 3.8.0 (tags/RELEASE_380/final)"}
!4 = !{i32 2, i32 0}
!30 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
