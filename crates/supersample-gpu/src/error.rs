//! Errors of a device, with sentences for users.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// Error of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library is not on this machine.
    #[error("no GPU: the NVIDIA driver (libcuda) is not installed on this machine")]
    NoDriver,
    /// The driver is installed, but there is no usable device.
    #[error("no GPU: the NVIDIA driver is installed but finds no device it can use ({reason})")]
    NoDevice {
        /// Message of the driver.
        reason: String,
    },
    /// The device lacks the instructions that the kernels are written in.
    #[error("the GPU {name} is too old: compute capability 8.0 or later is needed, it has {major}.{minor}")]
    TooOld {
        /// The device.
        name: String,
        /// The first part of its compute capability.
        major: i32,
        /// The second part.
        minor: i32,
    },
    /// The device has no memory left for what is asked.
    #[error("the GPU is out of memory: {wanted} bytes are needed and {free} are free")]
    OutOfMemory {
        /// Bytes that were asked for, 0 where that is not known.
        wanted: usize,
        /// Bytes that are free.
        free: usize,
    },
    /// The device has stopped working; nothing on it can be used any more.
    #[error("the GPU stopped working: {reason}")]
    DeviceLost {
        /// Message of the driver.
        reason: String,
    },
    /// The operation exists only on the CPU.
    #[error("there are no {what} on the GPU; leave them to the CPU")]
    NoKernel {
        /// What is asked for.
        what: &'static str,
    },
    /// Any other error of the driver.
    #[error("the GPU driver refused: {reason}")]
    Driver {
        /// Message of the driver.
        reason: String,
    },
}

/// A result, or what is wrong with the device.
pub type Result<T> = std::result::Result<T, Error>;

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Error {
        let words = error.error_string().ok().and_then(|text| text.to_str().ok());
        let reason = words.map_or_else(|| format!("{:?}", error.0), str::to_owned);
        match error.0 {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory { wanted: 0, free: 0 },
            CUresult::CUDA_ERROR_NO_DEVICE
            | CUresult::CUDA_ERROR_STUB_LIBRARY
            | CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
            | CUresult::CUDA_ERROR_SYSTEM_NOT_READY
            | CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE => Error::NoDevice { reason },
            CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_UNKNOWN => Error::DeviceLost { reason },
            _ => Error::Driver { reason },
        }
    }
}
