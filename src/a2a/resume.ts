/** Extension that resumes a stream exactly where it was interrupted: docs/a2a-resume-extension.md. */
export const RESUME_EXTENSION = 'https://holdfast.dev/a2a/extensions/resume/v1'
