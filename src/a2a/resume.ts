/** The extension by which a stream is taken up again exactly where it was cut: docs/a2a-resume-extension.md. */
export const RESUME_EXTENSION = 'https://holdfast.dev/a2a/extensions/resume/v1'
